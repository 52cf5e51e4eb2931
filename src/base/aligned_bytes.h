// A block of memory that starts at a cache line: what kernels read and write.
//
// Large blocks are whole pages that ask the system for huge pages (page_range.h), which makes
// streaming through weights 5 to 15 % faster than 4 KiB pages do (docs/numerics.md).
#pragma once

#include <cstddef>
#include <memory>

#include "base/page_range.h"

namespace maglio {

inline constexpr size_t kCacheLine = 64;

constexpr size_t round_up(size_t n, size_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

// Owner, movable. The bytes are not initialised; pages nobody touches cost no memory.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  // Throws: std::bad_alloc.
  explicit AlignedBytes(size_t size);

  std::byte* data() const { return small_ ? small_.get() : large_.data(); }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* p) const noexcept;
  };
  std::unique_ptr<std::byte, Free> small_;
  PageRange large_;
  size_t size_ = 0;
};

}  // namespace maglio

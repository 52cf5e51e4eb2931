// Whole pages of memory, at an address that stays: zeros at first, or the bytes of a file.
//
// The range begins at a huge page (2 MiB) and asks the system for huge pages. Pages that nobody
// touches cost no memory, so a range may be made larger than what will be used of it.
#pragma once

#include <cstddef>

namespace maglio {

class MappedFile;

inline constexpr size_t kHugePage = size_t{2} << 20;

// Owner, movable; moving does not move the bytes.
class PageRange {
 public:
  PageRange() = default;
  // At least `size` bytes. Throws: std::bad_alloc.
  explicit PageRange(size_t size);
  PageRange(PageRange&& other) noexcept;
  PageRange& operator=(PageRange&& other) noexcept;
  ~PageRange();

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

  // From now on the first n bytes are those of the file from `offset` on: read-only, and in memory
  // once for all processes that show them. Requires: they lie in the range and in the file; offset
  // is a multiple of a page. Throws: Error io "CannotMapFile".
  void show(const MappedFile& file, size_t offset, size_t n);

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;  // a multiple of kHugePage
};

}  // namespace maglio

#include "base/aligned_bytes.h"

#include <cstdint>
#include <cstdlib>
#include <new>

namespace maglio {

AlignedBytes::AlignedBytes(size_t size) : size_(size) {
  if (size == 0) return;
  if (size >= 2 * kHugePage) {
    large_ = PageRange(size);
    return;
  }
  small_.reset(static_cast<std::byte*>(std::aligned_alloc(kCacheLine, round_up(size, kCacheLine))));
  if (!small_) throw std::bad_alloc();
}

void AlignedBytes::Free::operator()(std::byte* p) const noexcept {
  std::free(p);
}

}  // namespace maglio

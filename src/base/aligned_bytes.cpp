#include "base/aligned_bytes.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace maglio {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

AlignedBytes::AlignedBytes(size_t size) : size_(size) {
  if (size == 0) return;
  const size_t alignment = size >= 2 * kHugePage ? kHugePage : kCacheLine;
  if (size > SIZE_MAX - alignment) throw std::bad_alloc();
  const size_t rounded = round_up(size, alignment);
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, rounded)));
  if (!data_) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  if (alignment == kHugePage) ::madvise(data_.get(), rounded, MADV_HUGEPAGE);  // a wish, no more
#endif
}

void AlignedBytes::Free::operator()(std::byte* p) const noexcept {
  std::free(p);
}

}  // namespace maglio

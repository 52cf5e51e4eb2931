#include "base/page_range.h"

#include <sys/mman.h>

#include <cassert>
#include <cstdint>
#include <new>
#include <utility>

#include "base/aligned_bytes.h"
#include "base/mapped_file.h"

namespace maglio {

PageRange::PageRange(size_t size) {
  if (size == 0) return;
  if (size > SIZE_MAX - 2 * kHugePage) throw std::bad_alloc();
  size_ = round_up(size, kHugePage);
  // Room for one huge page more, of which what lies before the first boundary and after the end
  // is given back.
  const size_t taken = size_ + kHugePage;
  void* const start = ::mmap(nullptr, taken, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) throw std::bad_alloc();
  auto* const bytes = static_cast<std::byte*>(start);
  const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(start) % kHugePage) % kHugePage;
  if (before > 0) ::munmap(bytes, before);
  if (before < kHugePage) ::munmap(bytes + before + size_, kHugePage - before);
  data_ = bytes + before;
#ifdef MADV_HUGEPAGE
  ::madvise(data_, size_, MADV_HUGEPAGE);  // a wish, no more
#endif
}

PageRange::PageRange(PageRange&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

PageRange& PageRange::operator=(PageRange&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

PageRange::~PageRange() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

void PageRange::show(const MappedFile& file, size_t offset, size_t n) {
  assert(n <= size_ && offset <= file.bytes().size() && n <= file.bytes().size() - offset);
  file.map_over(data_, offset, n);
}

}  // namespace maglio

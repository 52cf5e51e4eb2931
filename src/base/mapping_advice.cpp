#include "base/mapping_advice.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace maglio {

void expect_random_reads(std::span<const std::byte> part) noexcept {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(part.data()) + page - 1) / page * page;
  const auto end = (reinterpret_cast<uintptr_t>(part.data()) + part.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_RANDOM);
}

}  // namespace maglio

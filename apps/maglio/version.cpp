#include "maglio/version.h"

#include <fmt/format.h>

#include "kernels/registry.h"

namespace maglio::app {
namespace {

constexpr const char* machine() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "other";
#endif
}

}  // namespace

std::string version_text() {
  return fmt::format("maglio {} ({}, compiler {}, {}), instruction set {}", MAGLIO_VERSION,
                     build_commit(), __VERSION__, machine(), active_kernels().name);
}

std::string build_commit() {
  return MAGLIO_COMMIT;
}

}  // namespace maglio::app

#include "maglio/version.h"

#include <fmt/format.h>

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
  return fmt::format("maglio {} (compiler {}, {})", MAGLIO_VERSION, __VERSION__, machine());
}

}  // namespace maglio::app

#include "maglio/progress_bar.h"

#include <fmt/format.h>

#include <cmath>

namespace maglio::app {

std::string progress_bar(uint64_t done, uint64_t all) {
  constexpr size_t kWidth = 20;
  const double share = all == 0 ? 1 : static_cast<double>(done) / static_cast<double>(all);
  const auto full = static_cast<size_t>(share * kWidth);
  return "[" + std::string(full, '#') + std::string(kWidth - full, '.') + "]";
}

std::string time_left(uint64_t done, uint64_t all, double seconds) {
  if (done == 0) return {};
  const double left = seconds * static_cast<double>(all - done) / static_cast<double>(done);
  return fmt::format(", {:.0f} s left", std::ceil(left));
}

}  // namespace maglio::app

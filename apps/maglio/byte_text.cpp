#include "maglio/byte_text.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <string_view>

namespace maglio::app {

std::string grouped(uint64_t n) {
  std::string digits = std::to_string(n);
  for (size_t i = digits.size(); i > 3;) digits.insert(i -= 3, 1, ',');
  return digits;
}

std::string sized(double bytes) {
  constexpr std::string_view kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  return bytes == std::floor(bytes) ? fmt::format("{:.0f} {}", bytes, kUnits[unit])
                                    : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

}  // namespace maglio::app

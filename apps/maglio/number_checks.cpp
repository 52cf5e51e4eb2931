#include "maglio/number_checks.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "base/escaped.h"

namespace maglio::app {
namespace {

// The text as a number, all of it; nothing where it is none.
template <class T>
std::optional<T> number_in(std::string_view text) {
  T value = 0;
  const char* const end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || next != end) return std::nullopt;
  return value;
}

std::string refusal(const std::string& expected,
                    const std::string& example,
                    std::string_view found) {
  constexpr size_t kShown = 60;
  return fmt::format("expected {}, found '{}': write it like {}", expected, escaped(found, kShown),
                     example);
}

}  // namespace

CLI::Validator whole_number(int64_t low, int64_t high) {
  const bool open = high == std::numeric_limits<int64_t>::max();
  const std::string range = fmt::format("{} to {}", low, open ? "2^63-1" : std::to_string(high));
  const auto check = [=](std::string& text) -> std::string {
    const auto value = number_in<int64_t>(text);
    if (value && *value >= low && *value <= high) return {};
    return refusal("a whole number from " + range, std::to_string(low > 0 ? low : 0), text);
  };
  return CLI::Validator(
      check, open ? fmt::format("[{} ...]", low) : fmt::format("[{} ... {}]", low, high));
}

CLI::Validator real_number(double low, double high) {
  const bool from = low > std::numeric_limits<float>::lowest();
  const bool to = high < std::numeric_limits<float>::max();
  std::string expected = "a number";
  if (from) expected += fmt::format(" from {:g}", low);
  if (to) expected += fmt::format(" to {:g}", high);
  const auto check = [=](std::string& text) -> std::string {
    const auto value = number_in<double>(text);
    if (value && *value >= low && *value <= high) return {};  // not for NaN
    return refusal(expected, "0.5", text);
  };
  return CLI::Validator(check, !from && !to ? std::string()
                               : to         ? fmt::format("[{:g} ... {:g}]", low, high)
                                            : fmt::format("[{:g} ...]", low));
}

}  // namespace maglio::app

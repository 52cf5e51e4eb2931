#include "maglio/whole_number.h"

#include <fmt/format.h>

#include <charconv>
#include <string>

namespace maglio::app {

CLI::Validator whole_number(int64_t low) {
  const auto refusal = [low](std::string& text) -> std::string {
    int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [next, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && next == end && value >= low) return {};
    return fmt::format("expected a whole number from {} to 2^63-1, found '{}'", low, text);
  };
  return CLI::Validator(refusal, fmt::format("[{} ...]", low));
}

}  // namespace maglio::app

#include "maglio/byte_size.h"

#include <fmt/format.h>

#include <charconv>
#include <string>

namespace maglio::app {

std::optional<uint64_t> parse_byte_size(std::string_view text) {
  constexpr std::string_view kUnits = "BKMGT";
  const char* const end = text.data() + text.size();
  uint64_t n = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, n);
  if (error != std::errc()) return std::nullopt;
  std::string unit(rest, end);
  for (char& c : unit) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  size_t power = 0;
  if (!unit.empty()) {
    power = kUnits.find(unit[0]);
    if (power == std::string_view::npos) return std::nullopt;
    const std::string_view tail = std::string_view(unit).substr(1);
    if (!tail.empty() && (power == 0 || (tail != "B" && tail != "IB"))) return std::nullopt;
  }
  const uint64_t most = static_cast<uint64_t>(INT64_MAX) >> (10 * power);
  return n > most ? std::nullopt : std::optional(n << (10 * power));
}

CLI::Validator byte_size() {
  return {[](std::string& text) -> std::string {
            const std::optional<uint64_t> n = parse_byte_size(text);
            if (!n)
              return fmt::format("expected a number of bytes, found '{}': write it like 6GB", text);
            text = fmt::format("{}", *n);
            return {};
          },
          "BYTES"};
}

}  // namespace maglio::app

#include "maglio/escapes.h"

#include <charconv>

namespace maglio::app {
namespace {

constexpr std::string_view kNames = "ntr\\'\"";
constexpr std::string_view kMeanings = "\n\t\r\\'\"";

}  // namespace

std::string with_escapes_read(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i + 1);
    if (text[i] != '\\' || rest.empty()) {
      out += text[i];
      continue;
    }
    unsigned byte = 0;
    const char* digits = rest.data() + 1;
    if (const size_t name = kNames.find(rest[0]); name != std::string_view::npos) {
      out += kMeanings[name];
      i += 1;
    } else if (rest.size() >= 3 && rest[0] == 'x' &&
               std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      out += static_cast<char>(byte);
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace maglio::app

#include "maglio/harmless.h"

namespace maglio::app {
namespace {

// U+0080 to U+009F: c2 80 to c2 9f.
bool is_latin_control(std::string_view two_bytes) {
  return two_bytes.size() == 2 && two_bytes[0] == '\xc2' &&
         (static_cast<unsigned char>(two_bytes[1]) & 0xe0) == 0x80;
}

}  // namespace

std::string harmless(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\r') continue;
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) {
      out += '^';
      out += static_cast<char>(byte ^ 0x40);
    } else if (is_latin_control(text.substr(i, 2))) {
      out += "\uFFFD";
      ++i;
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace maglio::app

#include "base/escaped.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace maglio {
namespace {

// Controls (C0, DEL, C1), line and paragraph separators, marks of direction, the byte order mark.
bool is_hidden(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

}  // namespace

std::string escaped(std::string_view text, size_t max_bytes) {
  std::string out;
  size_t at = 0;
  while (at < text.size()) {
    const Utf8Step step = next_utf8(text, at);
    if (at + step.size > max_bytes) break;
    const std::string_view character = text.substr(at, step.size);
    if (character == "\n") {
      out += "\\n";
    } else if (character == "'" || character == "\\") {
      out += '\\';
      out += character;
    } else if (step.state == Utf8State::whole && !is_hidden(step.code_point)) {
      out += character;
    } else {
      for (const char c : character) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    at += step.size;
  }
  if (at < text.size()) out += fmt::format("… ({} bytes)", text.size());
  return out;
}

}  // namespace maglio

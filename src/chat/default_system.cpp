#include "chat/default_system.h"

namespace maglio::chat {
namespace {

constexpr std::string_view kOpen = "<|im_start|>system";
constexpr std::string_view kClose = "<|im_end|>";

char unescaped(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    default:
      return c;  // \' \" and backslash itself
  }
}

// The text from `at` to kClose, if that comes before the literal ends: at its quote, or, outside of
// quotes, where Jinja begins.
std::optional<std::string> literal_until_close(std::string_view source, size_t at, char quote) {
  std::string text;
  while (at < source.size()) {
    if (source.substr(at).starts_with(kClose)) return text;
    if (quote != 0 && source[at] == quote) return std::nullopt;
    if (quote == 0 &&
        (source.substr(at).starts_with("{{") || source.substr(at).starts_with("{%"))) {
      return std::nullopt;
    }
    if (quote != 0 && source[at] == '\\' && at + 1 < source.size()) {
      text += unescaped(source[at + 1]);
      at += 2;
    } else {
      text += source[at++];
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> default_system_message(std::string_view source) {
  for (size_t at = source.find(kOpen); at != source.npos; at = source.find(kOpen, at + 1)) {
    const char before = at > 0 ? source[at - 1] : '\0';
    const char quote = before == '\'' || before == '"' ? before : '\0';
    auto text = literal_until_close(source, at + kOpen.size(), quote);
    if (text && text->size() > 1 && text->front() == '\n') return text->substr(1);
  }
  return std::nullopt;
}

}  // namespace maglio::chat

#include "chat/thought.h"

namespace maglio::chat {
namespace {

constexpr std::string_view kOpen = "<think>";
constexpr std::string_view kClose = "</think>";
constexpr std::string_view kBlanks = " \t\r\n";

std::string_view from_first_not_of(std::string_view text, std::string_view characters) {
  const size_t first = text.find_first_not_of(characters);
  return first == text.npos ? std::string_view() : text.substr(first);
}

std::string_view until_last_not_of(std::string_view text, std::string_view characters) {
  return text.substr(0, text.find_last_not_of(characters) + 1);
}

}  // namespace

bool opens_thought(std::string_view prompt) {
  return until_last_not_of(prompt, kBlanks).ends_with(kOpen);
}

SplitAnswer split_thought(std::string_view answer, bool opened) {
  std::string_view thought = answer;
  if (!opened) {
    thought = from_first_not_of(answer, kBlanks);
    if (!thought.starts_with(kOpen)) return {"", std::string(answer)};
    thought.remove_prefix(kOpen.size());
  }
  const size_t end = thought.find(kClose);
  SplitAnswer split;
  if (end != thought.npos) {
    split.content = from_first_not_of(thought.substr(end + kClose.size()), "\n");
    thought = thought.substr(0, end);
  }
  split.reasoning = until_last_not_of(from_first_not_of(thought, "\n"), "\n");
  return split;
}

}  // namespace maglio::chat

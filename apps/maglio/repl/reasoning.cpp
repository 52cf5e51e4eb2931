#include "maglio/repl/reasoning.h"

#include <algorithm>
#include <utility>

namespace maglio::app {
namespace {

constexpr std::string_view kOpen = "<think>", kClose = "</think>";

// Length of the longest end of the text that a tag may begin with.
size_t begun_tag(std::string_view text, std::string_view tag) {
  size_t n = std::min(text.size(), tag.size() - 1);
  while (!text.ends_with(tag.substr(0, n))) --n;
  return n;
}

}  // namespace

std::vector<ReasoningSplitter::Part> ReasoningSplitter::push(std::string_view piece) {
  std::vector<Part> parts;
  pending_ += piece;
  if (state_ == State::undecided) {
    const size_t begin = pending_.find_first_not_of(" \t\r\n");
    if (begin == std::string::npos) return parts;
    const std::string_view text = std::string_view(pending_).substr(begin);
    if (text.size() < kOpen.size() && kOpen.starts_with(text)) return parts;
    state_ = text.starts_with(kOpen) ? State::thinking : State::answering;
  }
  if (state_ == State::thinking) {
    const size_t close = pending_.find(kClose);
    const bool closed = close != std::string::npos;
    const size_t end =
        closed ? close + kClose.size() : pending_.size() - begun_tag(pending_, kClose);
    if (end > 0) parts.push_back({true, pending_.substr(0, end)});
    pending_.erase(0, end);
    if (!closed) return parts;
    state_ = State::answering;
  }
  if (!pending_.empty()) parts.push_back({false, std::exchange(pending_, {})});
  return parts;
}

std::vector<ReasoningSplitter::Part> ReasoningSplitter::flush() {
  if (pending_.empty()) return {};
  return {{state_ == State::thinking, std::exchange(pending_, {})}};
}

}  // namespace maglio::app

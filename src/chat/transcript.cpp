#include "chat/transcript.h"

#include <algorithm>

namespace maglio::chat {

void Transcript::tell(const Run& run) {
  if (runs_.empty() || runs_.back().run.marker) {
    runs_.push_back({run, tokens_.size()});
    return;
  }
  HeldRun& open = runs_.back();
  open.run.text += run.text;
  open.run.marker = run.marker;
  open.end = tokens_.size();
}

void Transcript::tell_rest(size_t begin, std::string text) {
  if (told() == begin) tell({std::move(text)});
}

void Transcript::truncate(size_t keep) {
  if (keep >= tokens_.size()) return;
  tokens_.resize(keep);
  while (told() > keep) runs_.pop_back();
}

size_t common_prefix(std::span<const TokenId> a, std::span<const TokenId> b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace maglio::chat

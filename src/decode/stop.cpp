#include "decode/stop.h"

#include <algorithm>
#include <utility>

namespace maglio {

std::string StopStrings::push(std::string_view piece) {
  if (matched_) return {};
  const size_t searched = pending_.size();
  pending_ += piece;
  if (const auto match = find_match(searched)) {
    matched_ = match->string_i;
    std::string certain = pending_.substr(0, match->begin);
    pending_.clear();
    return certain;
  }
  const size_t n_certain = pending_.size() - held_length();
  std::string certain = pending_.substr(0, n_certain);
  pending_.erase(0, n_certain);
  return certain;
}

std::string StopStrings::flush() {
  return std::exchange(pending_, {});
}

void StopStrings::reset() {
  pending_.clear();
  matched_.reset();
}

// A new match ends after the text that was searched before.
std::optional<StopStrings::Match> StopStrings::find_match(size_t searched) const {
  std::optional<Match> best;
  for (size_t i = 0; i < strings_.size(); ++i) {
    const std::string& s = strings_[i];
    if (s.empty()) continue;
    const size_t from = searched >= s.size() ? searched - s.size() + 1 : 0;
    const size_t begin = pending_.find(s, from);
    if (begin == std::string::npos) continue;
    const Match match{begin, begin + s.size(), i};
    const bool sooner =
        !best || match.end < best->end || (match.end == best->end && match.begin < best->begin);
    if (sooner) best = match;
  }
  return best;
}

// Length of the longest end of the pending text that a stop string begins with.
size_t StopStrings::held_length() const {
  const std::string_view text = pending_;
  size_t held = 0;
  for (const std::string& s : strings_) {
    if (s.empty()) continue;
    for (size_t n = std::min(s.size() - 1, text.size()); n > held; --n) {
      if (text.ends_with(std::string_view(s).substr(0, n))) held = n;
    }
  }
  return held;
}

}  // namespace maglio

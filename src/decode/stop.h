// Stop strings in a stream of text that comes in pieces of any size.
//
// Text that may be the beginning of a stop string is held back until the next pieces decide, so a
// client never sees a character of it. Which string stops the text, and where, does not depend on
// how the text was cut: the match that ends first wins, and of those that end together the longest.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace maglio {

class StopStrings {
 public:
  StopStrings() = default;
  // Empty strings never match; the others keep their index.
  explicit StopStrings(std::vector<std::string> strings) : strings_(std::move(strings)) {}

  // Takes the next piece and returns the text that is now certain to come before any stop string.
  // Once a string has matched, everything later is dropped.
  std::string push(std::string_view piece);

  // The end of the text: what was held back, nothing after a match.
  std::string flush();

  // Forgets text and match.
  void reset();

  // Index of the string that stopped the text.
  std::optional<size_t> matched() const { return matched_; }
  const std::string& string(size_t i) const { return strings_[i]; }

 private:
  struct Match {
    size_t begin, end, string_i;
  };
  std::optional<Match> find_match(size_t searched) const;
  size_t held_length() const;

  std::vector<std::string> strings_;
  std::string pending_;  // text that is not released yet
  std::optional<size_t> matched_;
};

}  // namespace maglio

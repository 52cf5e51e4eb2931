#include "decode/stop.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace maglio {
namespace {

using Strings = std::vector<std::string>;

struct Outcome {
  std::string text;
  std::optional<size_t> matched;
  bool operator==(const Outcome&) const = default;
};

Outcome run(const Strings& stops, const Strings& pieces) {
  StopStrings stop(stops);
  std::string text;
  for (const std::string& piece : pieces) text += stop.push(piece);
  text += stop.flush();
  return {text, stop.matched()};
}

// The rule, letter by letter: the first end of any stop string, the longest of those.
Outcome plain(const Strings& stops, const std::string& text) {
  for (size_t end = 0; end <= text.size(); ++end) {
    size_t longest = 0, which = 0;
    for (size_t i = 0; i < stops.size(); ++i) {
      if (stops[i].size() > longest && text.substr(0, end).ends_with(stops[i])) {
        longest = stops[i].size();
        which = i;
      }
    }
    if (longest > 0) return {text.substr(0, end - longest), which};
  }
  return {text, std::nullopt};
}

TEST(StopStrings, NeverLeaksTheBeginning_B34) {
  StopStrings stop({"DEFGHIJ"});
  std::string text;
  for (char c : std::string("ABCDEFGHIJK")) {
    const std::string piece = stop.push(std::string(1, c));
    EXPECT_EQ(piece.find('D'), std::string::npos);
    text += piece;
  }
  EXPECT_EQ(text + stop.flush(), "ABC");
  EXPECT_EQ(stop.matched(), 0u);
  EXPECT_EQ(run({"DEFGHIJ"}, {"ABCDEFGHIJK"}).text, "ABC");
  EXPECT_EQ(run({"DEFGHIJ"}, {"ABCDE", "FGH", "IJK"}).text, "ABC");
}

TEST(StopStrings, ReleasesWhatWasHeldAtTheEnd_B35) {
  EXPECT_EQ(run({"DEFGHIJ"}, {"ABC", "DEFG"}), (Outcome{"ABCDEFG", std::nullopt}));
  StopStrings stop({"DEFGHIJ"});
  EXPECT_EQ(stop.push("ABCDEFG"), "ABC");
  EXPECT_EQ(stop.push("X"), "DEFGX");
  EXPECT_EQ(stop.push("Y"), "Y");
}

TEST(StopStrings, NothingComesAfterAMatch_B35) {
  StopStrings stop({"b"});
  EXPECT_EQ(stop.push("abc"), "a");
  EXPECT_EQ(stop.push("def"), "");
  EXPECT_EQ(stop.flush(), "");
  stop.reset();
  EXPECT_EQ(stop.push("ac"), "ac");
  EXPECT_FALSE(stop.matched());
}

TEST(StopStrings, EmptyStringsAreIgnoredAndKeepTheirPlace_B37) {
  EXPECT_EQ(run({""}, {"abc"}), (Outcome{"abc", std::nullopt}));
  EXPECT_EQ(run({}, {"abc"}), (Outcome{"abc", std::nullopt}));
  EXPECT_EQ(run({"", "b"}, {"abc"}), (Outcome{"a", 1}));
  EXPECT_EQ(run({"a", "b", "c", "d", "e"}, {"xxe"}), (Outcome{"xx", 4}));
}

TEST(StopStrings, OverlappingBeginningsAreTriedAgain) {
  EXPECT_EQ(run({"aab"}, {"a", "a", "a", "b"}), (Outcome{"a", 0}));
  EXPECT_EQ(run({"\n\nUser:"}, {"hi\n", "\n\nUser", ":"}), (Outcome{"hi\n", 0}));
}

TEST(StopStrings, OutcomeDoesNotDependOnHowTheTextIsCut) {
  std::mt19937 random(3);
  auto whole = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  auto word = [&](int n) {
    std::string s;
    for (int i = 0; i < n; ++i) s += static_cast<char>('a' + whole(2));
    return s;
  };
  for (int round = 0; round < 5000; ++round) {
    Strings stops;
    for (int i = whole(4); i > 0; --i) stops.push_back(word(whole(6)));
    const std::string text = word(whole(25));
    Strings pieces;
    for (size_t at = 0; at < text.size();) {
      const size_t n = 1 + static_cast<size_t>(whole(5));
      pieces.push_back(text.substr(at, n));
      at += n;
    }
    const Outcome expected = plain(stops, text);
    const Outcome found = run(stops, pieces);
    ASSERT_EQ(found.text, expected.text) << text;
    ASSERT_EQ(found.matched.has_value(), expected.matched.has_value()) << text;
    if (found.matched) {
      ASSERT_EQ(stops[*found.matched], stops[*expected.matched]);
    }
  }
}

}  // namespace
}  // namespace maglio

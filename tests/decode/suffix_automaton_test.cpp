#include "decode/suffix_automaton.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "decode/frozen_automaton.h"
#include "support/random_blocks.h"

namespace maglio {
namespace {

using Ids = std::vector<TokenId>;

size_t common_ending(std::span<const TokenId> a, std::span<const TokenId> b) {
  size_t n = 0;
  while (n < a.size() && n < b.size() && a[a.size() - 1 - n] == b[b.size() - 1 - n]) ++n;
  return n;
}

// The longest ending of `words` among the places of the text before `before`, the last such place.
TextMatch search(std::span<const TokenId> text, std::span<const TokenId> words, size_t before) {
  TextMatch best;
  for (size_t end = 1; end < before; ++end) {
    const size_t length = common_ending(text.first(end), words);
    if (length > 0 && length >= best.length) best = {length, end};
  }
  return best;
}

Ids random_text(size_t n, size_t alphabet, uint64_t seed) {
  test::Dice dice(seed);
  Ids text(n);
  for (TokenId& id : text) id = static_cast<TokenId>(dice.bits() % alphabet);
  return text;
}

TEST(SuffixAutomaton, FindsWhatABruteForceSearchFinds) {
  for (size_t alphabet : {1u, 2u, 3u, 5u, 40u}) {
    for (uint64_t seed = 0; seed < 12; ++seed) {
      const Ids text = random_text(180, alphabet, seed);
      SuffixAutomaton automaton;
      for (size_t n = 1; n <= text.size(); ++n) {
        automaton.append(text[n - 1]);
        const auto so_far = std::span(text).first(n);
        ASSERT_EQ(automaton.earlier(), search(so_far, so_far, n))
            << "alphabet " << alphabet << ", seed " << seed << ", " << n << " tokens";
      }
      EXPECT_TRUE(std::ranges::equal(automaton.text(), text));
    }
  }
}

TEST(SuffixAutomaton, TheMostRecentPlaceWins) {
  SuffixAutomaton automaton;
  for (TokenId id : {1, 2, 7, 1, 2, 8, 1, 2}) automaton.append(id);
  EXPECT_EQ(automaton.earlier(), (TextMatch{2, 5})) << "8 came after the later one";
}

TEST(SuffixAutomaton, AnEmptyTextAndANewTokenMatchNothing) {
  SuffixAutomaton automaton;
  EXPECT_EQ(automaton.earlier(), TextMatch{});
  automaton.append(3);
  EXPECT_EQ(automaton.earlier(), TextMatch{});
  automaton.append(4);
  EXPECT_EQ(automaton.earlier(), TextMatch{});
}

// One letter for ever: every ending ends everywhere, and noting it all would be quadratic.
TEST(SuffixAutomaton, ATextOfOneTokenStillFindsItsLongestEnding) {
  SuffixAutomaton automaton;
  for (size_t n = 1; n <= 100'000; ++n) {
    automaton.append(7);
    ASSERT_EQ(automaton.earlier().length, n - 1);
    ASSERT_EQ(automaton.earlier().end, n - 1);
  }
}

TEST(FrozenAutomaton, FindsWhatABruteForceSearchFinds) {
  for (size_t alphabet : {1u, 2u, 3u, 5u, 40u}) {
    for (uint64_t seed = 0; seed < 12; ++seed) {
      const Ids text = random_text(150, alphabet, seed);
      const Ids words = random_text(100, alphabet + seed % 2, seed + 100);
      const FrozenAutomaton automaton(text);
      FrozenAutomaton::Cursor cursor(automaton);
      for (size_t n = 1; n <= words.size(); ++n) {
        cursor.append(words[n - 1]);
        ASSERT_EQ(cursor.match(), search(text, std::span(words).first(n), text.size()))
            << "alphabet " << alphabet << ", seed " << seed << ", " << n << " tokens";
      }
    }
  }
}

// A conversation that begins with a text, and one that has it as a reference.
TEST(FrozenAutomaton, FindsInAReferenceWhatTheGrowingOneFindsInItsOwnPast) {
  size_t n_matches = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Ids text = random_text(300, 4, seed);
    const Ids words = random_text(40, 4, seed + 50);
    const TokenId border = 99;
    SuffixAutomaton grown;
    for (TokenId id : text) grown.append(id);
    grown.append(border);
    const FrozenAutomaton frozen(text);
    FrozenAutomaton::Cursor cursor(frozen);
    for (TokenId id : words) {
      grown.append(id);
      cursor.append(id);
      if (grown.earlier().end > text.size()) continue;  // found among the words themselves
      // Longer than in the words themselves: the same place in both.
      if (grown.earlier().end < text.size()) {
        ASSERT_EQ(cursor.match(), grown.earlier());
        ++n_matches;
      }
    }
  }
  EXPECT_GT(n_matches, 100u);
}

TEST(FrozenAutomaton, WhatNothingFollowsIsNoMatch) {
  const FrozenAutomaton automaton(Ids{5, 1, 2, 3});
  FrozenAutomaton::Cursor cursor(automaton);
  for (TokenId id : {1, 2, 3}) cursor.append(id);
  EXPECT_EQ(cursor.match(), TextMatch{}) << "1 2 3 is the end of the text, and 3 comes once";
  const FrozenAutomaton empty((Ids()));
  FrozenAutomaton::Cursor nothing(empty);
  nothing.append(1);
  EXPECT_EQ(nothing.match(), TextMatch{});
}

}  // namespace
}  // namespace maglio

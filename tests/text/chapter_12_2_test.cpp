// Statements of the chapter's section 12.2 that no other test pins (docs/coverage.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "maglio/tokenizer.h"
#include "text/pretokenizer.h"

namespace maglio {
namespace {

using Ids = std::vector<TokenId>;
using Words = std::vector<std::string_view>;

// The toy of the chapter, on the real tokenizer.
Tokenizer lower_tokenizer() {
  return Tokenizer::from_parts({.vocab = {"l", "o", "w", "e", "r", "lo", "low", "er", "lower"},
                                .merges = {"l o", "lo w", "e r", "low er"}});
}

// The algorithm of the chapter as it says it: look at all pairs, merge the earliest rule, repeat.
Ids merge_plainly(const Words& vocab, const Words& merges, std::string_view text) {
  std::vector<std::string> symbols;
  for (char c : text) symbols.emplace_back(1, c);
  while (true) {
    size_t best_rank = merges.size(), best_at = 0;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const std::string rule = symbols[i] + " " + symbols[i + 1];
      const auto rank =
          static_cast<size_t>(std::find(merges.begin(), merges.end(), rule) - merges.begin());
      if (rank < best_rank) best_rank = rank, best_at = i;
    }
    if (best_rank == merges.size()) break;
    symbols[best_at] += symbols[best_at + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best_at) + 1);
  }
  Ids ids;
  for (const std::string& s : symbols) {
    ids.push_back(static_cast<TokenId>(std::find(vocab.begin(), vocab.end(), s) - vocab.begin()));
  }
  return ids;
}

TEST(BpeChapter, MergesUntilNoRuleApplies) {
  EXPECT_EQ(lower_tokenizer().encode("lower"), (Ids{8}));
  EXPECT_EQ(lower_tokenizer().encode("wool"), (Ids{2, 1, 1, 0}));
}

TEST(BpeChapter, TheLowestRankMergesFirst) {
  const Words vocab = {"a", "b", "c", "ab", "bc"};
  const auto ids = [&](Words merges) {
    return Tokenizer::from_parts({.vocab = vocab, .merges = std::move(merges)}).encode("abc");
  };
  EXPECT_EQ(ids({"a b", "b c"}), (Ids{3, 2}));
  EXPECT_EQ(ids({"b c", "a b"}), (Ids{0, 4}));
}

TEST(BpeChapter, OfEqualPairsTheLeftmostMerges) {
  const Tokenizer tokenizer = Tokenizer::from_parts({.vocab = {"a", "aa"}, .merges = {"a a"}});
  EXPECT_EQ(tokenizer.encode("aaa"), (Ids{1, 0}));
}

TEST(BpeChapter, EqualsThePlainAlgorithmOnRandomRules) {
  std::mt19937 random(122);
  for (int round = 0; round < 200; ++round) {
    // Rules are learned as in training: each new one joins two symbols that exist.
    std::vector<std::string> symbols = {"a", "b", "c"}, rules;
    for (int i = 0; i < 12; ++i) {
      const std::string left = symbols[random() % symbols.size()];
      const std::string right = symbols[random() % symbols.size()];
      if (std::find(symbols.begin(), symbols.end(), left + right) != symbols.end()) continue;
      symbols.push_back(left + right);
      rules.push_back(left + " " + right);
    }
    const Words vocab(symbols.begin(), symbols.end()), merges(rules.begin(), rules.end());
    const Tokenizer tokenizer = Tokenizer::from_parts({.vocab = vocab, .merges = merges});
    for (int i = 0; i < 20; ++i) {
      std::string text(1 + random() % 40, ' ');
      for (char& c : text) c = static_cast<char>('a' + random() % 3);
      ASSERT_EQ(tokenizer.encode(text), merge_plainly(vocab, merges, text)) << text;
    }
  }
}

TEST(BpeChapter, MergesNeverCrossAChunk) {
  TokenizerParts parts{.vocab = {"1", "11", "a", "\u0120", "a\u0120", "\u0120a"},
                       .merges = {"1 1", "a \u0120", "\u0120 a"}};
  // qwen2 cuts between digits, llama-bpe after three; the space belongs to the second word.
  EXPECT_EQ(Tokenizer::from_parts(parts).encode("11"), (Ids{0, 0}));
  EXPECT_EQ(Tokenizer::from_parts(parts).encode("a a"), (Ids{2, 5}));
  parts.pre = "llama-bpe";
  EXPECT_EQ(Tokenizer::from_parts(parts).encode("11"), (Ids{1}));
}

TEST(Qwen2ChunksChapter, AWordTakesOneCharacterBeforeIt) {
  const auto chunks = [](std::string_view text) { return split_chunks(PreRules::qwen2, text); };
  EXPECT_EQ(chunks("(abc"), (Words{"(abc"}));
  EXPECT_EQ(chunks("((abc"), (Words{"((", "abc"})) << "a run of two is punctuation first";
  EXPECT_EQ(chunks("1abc"), (Words{"1", "abc"})) << "no digit";
  EXPECT_EQ(chunks("\nabc"), (Words{"\n", "abc"})) << "no newline";
  EXPECT_EQ(chunks("\rabc"), (Words{"\r", "abc"}));
}

TEST(Qwen2ChunksChapter, SpaceThatEndsInNewlinesStaysWithThem) {
  const auto chunks = [](std::string_view text) { return split_chunks(PreRules::qwen2, text); };
  EXPECT_EQ(chunks("a  \n\n  b"), (Words{"a", "  \n\n", " ", " b"}));
  EXPECT_EQ(chunks("a \r\n \n b"), (Words{"a", " \r\n \n", " b"}));
}

TEST(SpecialTokensChapter, AMarkerIsOneIdWhateverStandsBesideIt) {
  const Tokenizer tokenizer = Tokenizer::from_parts(
      {.vocab = {"<|x|>", "a", "<|x|>a", "<", "|", "x", ">", "a<"}, .merges = {"a <"}});
  EXPECT_EQ(tokenizer.encode("a<|x|>a"), (Ids{1, 0, 1}));
  EXPECT_EQ(tokenizer.encode("<|x|><|x|>"), (Ids{0, 0}));
}

}  // namespace
}  // namespace maglio

#include "text/bpe.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "text/vocabulary.h"

namespace maglio {
namespace {

using Ids = std::vector<TokenId>;
using Texts = std::vector<std::string>;

struct Model {
  Texts tokens;
  Texts merges;
};

std::vector<std::string_view> views(const Texts& texts) {
  return {texts.begin(), texts.end()};
}

Ids encode(const Model& model, std::string_view chunk, Bpe::Scratch& scratch) {
  const Vocabulary vocabulary(views(model.tokens), {});
  const Bpe bpe(vocabulary, views(model.merges));
  Ids ids;
  bpe.encode(chunk, scratch, ids);
  return ids;
}

Ids encode(const Model& model, std::string_view chunk) {
  Bpe::Scratch scratch;
  return encode(model, chunk, scratch);
}

// The definition, as plainly as it can be said: scan for the lowest rank, merge, start again.
Ids encode_plainly(const Model& model, std::string_view chunk) {
  std::map<std::pair<std::string, std::string>, size_t> ranks;
  for (size_t rank = 0; rank < model.merges.size(); ++rank) {
    const std::string& merge = model.merges[rank];
    const size_t space = merge.find(' ');
    ranks.try_emplace({merge.substr(0, space), merge.substr(space + 1)}, rank);
  }
  Texts symbols;
  for (char c : chunk) symbols.emplace_back(1, c);
  while (true) {
    size_t best_rank = model.merges.size();
    size_t best = 0;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto found = ranks.find({symbols[i], symbols[i + 1]});
      if (found != ranks.end() && found->second < best_rank) {
        best_rank = found->second;
        best = i;
      }
    }
    if (best_rank == model.merges.size()) break;
    symbols[best] += symbols[best + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  Ids ids;
  const auto id_of = [&](const std::string& symbol) {
    const auto found = std::find(model.tokens.begin(), model.tokens.end(), symbol);
    return found == model.tokens.end() ? -1 : static_cast<TokenId>(found - model.tokens.begin());
  };
  for (const std::string& symbol : symbols) {
    if (id_of(symbol) >= 0) {
      ids.push_back(id_of(symbol));
    } else {
      for (char c : symbol) ids.push_back(id_of(std::string(1, c)));
    }
  }
  return ids;
}

TEST(Bpe, LowestRankMergesFirst) {
  const Texts tokens = {"a", "b", "c", "ab", "bc"};
  EXPECT_EQ(encode({tokens, {"a b", "b c"}}, "abc"), (Ids{3, 2}));
  EXPECT_EQ(encode({tokens, {"b c", "a b"}}, "abc"), (Ids{0, 4}));
}

TEST(Bpe, OfEqualPairsTheLeftmostMergesFirst) {
  EXPECT_EQ(encode({{"a", "aa"}, {"a a"}}, "aaa"), (Ids{1, 0}));
  EXPECT_EQ(encode({{"a", "aa"}, {"a a"}}, "aaaaa"), (Ids{1, 1, 0}));
}

TEST(Bpe, TheChaptersExample) {
  const Model model = {{"l", "o", "w", "e", "r", "lo", "low", "er", "lower"},
                       {"l o", "lo w", "e r", "low er"}};
  EXPECT_EQ(encode(model, "lower"), (Ids{8}));
  EXPECT_EQ(encode(model, "wool"), (Ids{2, 1, 1, 0}));
  EXPECT_EQ(encode(model, ""), Ids{});
}

TEST(Bpe, OfEqualRulesTheFirstWins) {
  EXPECT_EQ(encode({{"a", "b", "c", "ab", "bc"}, {"a b", "b c", "a b"}}, "abc"), (Ids{3, 2}));
}

TEST(Bpe, ASymbolCanBeMadeInTwoWays) {
  const Model model = {{"a", "b", "ab", "bb", "abb"}, {"b b", "a b", "ab b", "a bb"}};
  EXPECT_EQ(encode(model, "abb"), (Ids{4})) << "by a + bb";
  EXPECT_EQ(encode(model, "abbb"), (Ids{4, 1}));
}

TEST(Bpe, EqualsThePlainDefinitionOnRandomRulesAndTexts) {
  uint64_t state = 1;
  const auto random = [&](size_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>(state >> 33) % limit;
  };
  for (int round = 0; round < 300; ++round) {
    Model model{{"a", "b", "c"}, {}};
    Texts symbols = model.tokens;
    for (int i = 0; i < 25; ++i) {
      const std::string left = symbols[random(symbols.size())];
      const std::string right = symbols[random(symbols.size())];
      if (left.size() + right.size() > 9) continue;
      model.merges.push_back(left + " " + right);
      symbols.push_back(left + right);
      // Most merged symbols are tokens, some only a step on the way.
      const auto known = std::find(model.tokens.begin(), model.tokens.end(), left + right);
      if (random(5) > 0 && known == model.tokens.end()) model.tokens.push_back(left + right);
    }
    const Vocabulary vocabulary(views(model.tokens), {});
    const Bpe bpe(vocabulary, views(model.merges));
    Bpe::Scratch scratch;
    for (int text_i = 0; text_i < 20; ++text_i) {
      std::string text;
      for (size_t n = random(40); n > 0; --n) text.push_back(static_cast<char>('a' + random(3)));
      Ids ids;
      bpe.encode(text, scratch, ids);
      ASSERT_EQ(ids, encode_plainly(model, text)) << text;
    }
  }
}

TEST(Bpe, MergeStepsOfALongRunGrowLinearly) {
  Model model{{"a"}, {}};
  for (std::string run = "a"; run.size() < 64; run += run) {
    model.merges.push_back(run + " " + run);
    model.tokens.push_back(run + run);
  }
  const auto steps = [&](size_t n) {
    Bpe::Scratch scratch;
    encode(model, std::string(n, 'a'), scratch);
    return scratch.n_steps;
  };
  for (size_t n : {1000u, 10000u, 64000u}) {
    const size_t once = steps(n);
    EXPECT_GE(once, n - n / 64 - 1) << "every merge is a step";
    EXPECT_LE(once, 3 * n);
    EXPECT_LE(steps(2 * n), 2 * once + 64);
    EXPECT_LE(steps(4 * n), 4 * once + 128);
  }
}

}  // namespace
}  // namespace maglio

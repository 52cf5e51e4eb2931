// Statements of the chapter's section 12.2 that no other test pins (docs/coverage.md).
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "maglio/tokenizer.h"
#include "text/pretokenizer.h"

namespace maglio {
namespace {

using Ids = std::vector<TokenId>;
using Words = std::vector<std::string_view>;

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

#include "mini_bpe.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "maglio/tokenizer.h"
#include "text/byte_alphabet.h"

namespace course {
namespace {

using Ids = std::vector<int>;

const MiniBpe kLower{{"l", "o", "w", "e", "r", "lo", "low", "er", "lower"},
                     {{"l", "o"}, {"lo", "w"}, {"e", "r"}, {"low", "er"}}};

TEST(MiniBpe, LowerMergesToOneToken) {
  EXPECT_EQ(kLower.encode("lower"), (Ids{8}));
}

TEST(MiniBpe, WoolHasNoRuleAndStaysLetters) {
  EXPECT_EQ(kLower.encode("wool"), (Ids{2, 1, 1, 0}));
}

TEST(MiniBpe, AnUnknownSymbolIsAnError) {
  EXPECT_THROW((void)kLower.encode("lowest"), std::invalid_argument);
}

TEST(MiniBpe, WithTheByteMapASpaceIsASymbolLikeAnother) {
  const MiniBpe bpe{{"h", "i", "Ġ", "hi", "Ġhi"}, {{"h", "i"}, {"Ġ", "hi"}}};
  EXPECT_EQ(bpe.encode_bytes("hi hi"), (Ids{3, 4}));
  EXPECT_THROW((void)bpe.encode("hi hi"), std::invalid_argument) << "a bare space is no symbol";
}

TEST(MiniBpe, TheByteMapIsTheRealOne) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    EXPECT_EQ(MiniBpe::stand_in(byte),
              maglio::spell_bytes(std::string(1, static_cast<char>(byte))));
  }
}

// "hi hi" is two chunks for the real tokenizer, "hi" and " hi", so no merge crosses the border.
TEST(MiniBpe, TheRealTokenizerAgrees) {
  const maglio::Tokenizer tokenizer = maglio::Tokenizer::from_parts(
      {.vocab = {"h", "i", "Ġ", "hi", "Ġhi"}, .merges = {"h i", "Ġ hi"}});
  EXPECT_EQ(tokenizer.encode("hi hi"), (Ids{3, 4}));
}

}  // namespace
}  // namespace course

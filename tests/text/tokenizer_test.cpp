#include "maglio/tokenizer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "maglio/error.h"
#include "text/byte_alphabet.h"

namespace maglio {
namespace {

using Ids = std::vector<TokenId>;

Tokenizer hi_tokenizer() {
  return Tokenizer::from_parts({.vocab = {"<|im_end|>", "h", "i", "hi"}, .merges = {"h i"}});
}

// Expects an Error with the code; returns its message.
template <class F>
std::string message_of(std::string_view code, F&& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.message();
    return error.message();
  }
  ADD_FAILURE() << "no Error " << code;
  return "";
}

TEST(Tokenizer, FromPartsEncodesAndDecodesTheChaptersExample) {
  const Tokenizer tokenizer = hi_tokenizer();
  const Ids ids = tokenizer.encode("hi<|im_end|>");
  EXPECT_EQ(ids, (Ids{3, 0}));
  EXPECT_EQ(tokenizer.decode(ids, Tokenizer::SpecialText::shown), "hi<|im_end|>");
  EXPECT_EQ(tokenizer.decode(ids), "hi");
}

TEST(Tokenizer, AnOpeningWithoutAKnownMarkerIsText) {
  const Tokenizer tokenizer =
      Tokenizer::from_parts({.vocab = {"<|im_end|>", "<", "|", "i", "m", ">", "_", "e", "n", "d"}});
  EXPECT_EQ(tokenizer.encode("<|im_end"), (Ids{1, 2, 3, 4, 6, 7, 8, 9}));
  EXPECT_EQ(tokenizer.encode("<|<|im_end|>"), (Ids{1, 2, 0}));
  EXPECT_EQ(tokenizer.encode("<|i|>"), (Ids{1, 2, 3, 2, 5}));
}

TEST(Tokenizer, PlainTextNeverBecomesAControlToken) {
  const Tokenizer tokenizer =
      Tokenizer::from_parts({.vocab = {"<|im_end|>", "<", "|", "i", "m", ">", "_", "e", "n", "d"}});
  EXPECT_EQ(tokenizer.encode_plain("<|im_end|>"), (Ids{1, 2, 3, 4, 6, 7, 8, 9, 2, 5}));
}

TEST(Tokenizer, AnUnknownMergedSymbolFallsBackToItsBytes) {
  const Tokenizer tokenizer =
      Tokenizer::from_parts({.vocab = {"a", "b", "c"}, .merges = {"a b", "ab c"}});
  EXPECT_EQ(tokenizer.encode("abcab"), (Ids{0, 1, 2, 0, 1}));
}

TEST(Tokenizer, MergesMayPassThroughASymbolThatIsNoToken) {
  const Tokenizer tokenizer =
      Tokenizer::from_parts({.vocab = {"a", "b", "c", "abc"}, .merges = {"a b", "ab c"}});
  EXPECT_EQ(tokenizer.encode("abc"), (Ids{3}));
}

TEST(Tokenizer, AByteWithoutATokenIsAnError) {
  const Tokenizer tokenizer = hi_tokenizer();
  const std::string message = message_of("UnknownSymbol", [&] { (void)tokenizer.encode("hat"); });
  EXPECT_NE(message.find("0x61"), std::string::npos) << message;
}

TEST(Tokenizer, TheVocabularyMustHaveTokens) {
  message_of("EmptyVocabulary", [] { (void)Tokenizer::from_parts({}); });
}

TEST(Tokenizer, ListsOfDifferentLengthsAreRefusedWithBothLengths) {
  const std::string message = message_of("TokenTypesLength", [] {
    (void)Tokenizer::from_parts({.vocab = {"a", "b", "c", "d"}, .token_types = {1, 1, 3}});
  });
  EXPECT_NE(message.find('4'), std::string::npos) << message;
  EXPECT_NE(message.find('3'), std::string::npos) << message;
}

TEST(Tokenizer, IdsOutsideTheVocabularyAreRefused) {
  message_of("TokenOutOfRange", [] { (void)Tokenizer::from_parts({.vocab = {"a"}, .eos = 1}); });
  message_of("TokenOutOfRange", [] { (void)Tokenizer::from_parts({.vocab = {"a"}, .bos = -1}); });
  message_of("TokenOutOfRange",
             [] { (void)Tokenizer::from_parts({.vocab = {"a"}, .more_ends = {7}}); });
  const Tokenizer tokenizer = hi_tokenizer();
  message_of("TokenOutOfRange", [&] { (void)tokenizer.decode(Ids{3, 4}); });
  message_of("TokenOutOfRange", [&] { (void)tokenizer.decode(Ids{-1}); });
}

TEST(Tokenizer, AMergeOfOnePartIsRefused) {
  for (const char* merge : {"hi", "", "h "}) {
    const std::string message = message_of("BadMerge", [&] {
      (void)Tokenizer::from_parts({.vocab = {"h", "i"}, .merges = {"h i", merge}});
    });
    EXPECT_NE(message.find("[1]"), std::string::npos) << message;
  }
}

TEST(Tokenizer, AMergeOfUnknownPartsIsHarmless) {
  const Tokenizer tokenizer =
      Tokenizer::from_parts({.vocab = {"h", "i"}, .merges = {"x y", "xy h", "h i"}});
  EXPECT_EQ(tokenizer.encode("hi"), (Ids{0, 1}));
}

TEST(Tokenizer, EncodeFramesByThePolicyAndEncodeRawDoesNot) {
  TokenizerParts parts{.vocab = {"<s>", "</s>", "h", "i"}, .token_types = {3, 3, 1, 1}};
  parts.bos = 0;
  parts.eos = 1;
  EXPECT_EQ(Tokenizer::from_parts(parts).encode("hi"), (Ids{2, 3})) << "no key, qwen2: no BOS";
  parts.add_bos = true;
  EXPECT_EQ(Tokenizer::from_parts(parts).encode("hi"), (Ids{0, 2, 3}));
  EXPECT_EQ(Tokenizer::from_parts(parts).encode(""), (Ids{0}));
  parts.add_eos = true;
  EXPECT_EQ(Tokenizer::from_parts(parts).encode("hi"), (Ids{0, 2, 3, 1}));
  EXPECT_EQ(Tokenizer::from_parts(parts).encode_raw("hi"), (Ids{2, 3}));
  EXPECT_EQ(Tokenizer::from_parts(parts).encode_plain("hi"), (Ids{2, 3}));
}

TEST(Tokenizer, Llama3AddsBosWhereTheFileDoesNotSay) {
  TokenizerParts parts{.vocab = {"<s>", "h", "i"}, .token_types = {3, 1, 1}, .pre = "llama-bpe"};
  EXPECT_EQ(Tokenizer::from_parts(parts).encode("hi"), (Ids{1, 2})) << "there is none to add";
  parts.bos = 0;
  EXPECT_EQ(Tokenizer::from_parts(parts).encode("hi"), (Ids{0, 1, 2}));
  parts.add_bos = false;
  EXPECT_EQ(Tokenizer::from_parts(parts).encode("hi"), (Ids{1, 2}));
}

TEST(Tokenizer, AnAddedBosNeedsABosToken) {
  message_of("MissingBos", [] { (void)Tokenizer::from_parts({.vocab = {"a"}, .add_bos = true}); });
  message_of("MissingEos", [] { (void)Tokenizer::from_parts({.vocab = {"a"}, .add_eos = true}); });
}

TEST(Tokenizer, Llama3TakesAWholeWordUnmerged) {
  TokenizerParts parts{.vocab = {"h", "i", "hi"}, .pre = "llama-bpe"};
  EXPECT_EQ(Tokenizer::from_parts(parts).encode("hi"), (Ids{2}));
  parts.pre = "qwen2";
  EXPECT_EQ(Tokenizer::from_parts(parts).encode("hi"), (Ids{0, 1})) << "no rule merges it";
}

TEST(Tokenizer, AnUnknownPreTokenizerIsRecordedAndUsesQwen2Rules) {
  TokenizerParts parts{.vocab = {"1", "2", "12"}, .merges = {"1 2"}, .pre = "brand-new"};
  const Tokenizer tokenizer = Tokenizer::from_parts(parts);
  EXPECT_EQ(tokenizer.pre_mismatch(), "brand-new");
  EXPECT_EQ(tokenizer.encode("12"), (Ids{0, 1})) << "every digit alone";
  parts.pre = "gpt-2";
  EXPECT_EQ(Tokenizer::from_parts(parts).pre_mismatch(), std::nullopt);
  EXPECT_EQ(Tokenizer::from_parts(parts).encode("12"), (Ids{2}));
}

TEST(Tokenizer, EndTokensAreKnownByIdAndByText) {
  const Tokenizer tokenizer =
      Tokenizer::from_parts({.vocab = {"a", "<|im_end|>", "<|endoftext|>", "b", "c", "<turn|>"},
                             .token_types = {1, 3, 1, 1, 3, 3},
                             .eos = 1,
                             .more_ends = {4}});
  const std::span<const TokenId> ends = tokenizer.eos_ids();
  EXPECT_EQ(Ids(ends.begin(), ends.end()), (Ids{1, 2, 4, 5}));
  EXPECT_TRUE(tokenizer.is_eos(2));
  EXPECT_FALSE(tokenizer.is_eos(0));
  EXPECT_FALSE(tokenizer.is_eos(-1));
  EXPECT_TRUE(tokenizer.is_control(2)) << "by its text, whatever the type says";
  EXPECT_FALSE(tokenizer.is_control(3));
  EXPECT_FALSE(tokenizer.is_control(99));
}

TEST(Tokenizer, InHarmonyTheEndOfAMessageIsNotTheEnd) {
  const Tokenizer tokenizer = Tokenizer::from_parts(
      {.vocab = {"<|end|>", "<|return|>", "<|call|>"}, .token_types = {3, 3, 3}});
  EXPECT_FALSE(tokenizer.is_eos(0));
  EXPECT_TRUE(tokenizer.is_eos(1));
  EXPECT_EQ(tokenizer.decode(Ids{0, 1}), "<|end|>");
}

TEST(Tokenizer, UserDefinedTokensAreAtomicAndVisibleEitherWay) {
  const Tokenizer tokenizer = Tokenizer::from_parts(
      {.vocab = {"<t>", "<", "t", ">", "<c>", "c"}, .token_types = {4, 1, 1, 1, 3, 1}});
  EXPECT_EQ(tokenizer.encode_raw("<t><c>"), (Ids{0, 4}));
  EXPECT_EQ(tokenizer.encode_plain("<t><c>"), (Ids{0, 1, 5, 3}));
  EXPECT_EQ(tokenizer.decode(Ids{0, 4}), "<t>");
  EXPECT_EQ(tokenizer.decode(Ids{0, 4}, Tokenizer::SpecialText::shown), "<t><c>");
}

TEST(Tokenizer, AnUnknownTokenIsParsedAndHiddenLikeAControlToken) {
  const Tokenizer tokenizer = Tokenizer::from_parts(
      {.vocab = {"<unk>", "<", "u", "n", "k", ">"}, .token_types = {2, 1, 1, 1, 1, 1}});
  EXPECT_EQ(tokenizer.encode_raw("<unk>"), (Ids{0}));
  EXPECT_EQ(tokenizer.encode_plain("<unk>"), (Ids{1, 2, 3, 4, 5}));
  EXPECT_EQ(tokenizer.decode(Ids{0}), "");
  EXPECT_FALSE(tokenizer.is_control(0));
}

TEST(Tokenizer, TheLongestSpecialTokenTakesItsPlaceFirst) {
  const Tokenizer tokenizer = Tokenizer::from_parts(
      {.vocab = {"a", "b", "c", "d", "ab", "bcd"}, .token_types = {1, 1, 1, 1, 4, 4}});
  EXPECT_EQ(tokenizer.encode("abcd"), (Ids{0, 5})) << "though ab starts further left";
  EXPECT_EQ(tokenizer.encode("abcabcd"), (Ids{4, 2, 0, 5}));
}

TEST(Tokenizer, OverlappingOccurrencesAreTakenFromLeftToRight) {
  const Tokenizer tokenizer =
      Tokenizer::from_parts({.vocab = {"a", "aa", "aaa"}, .token_types = {1, 4, 4}});
  EXPECT_EQ(tokenizer.encode("aaaaaaa"), (Ids{2, 2, 0}));
  EXPECT_EQ(tokenizer.encode("aaaaa"), (Ids{2, 1}));
}

// A vocabulary of single bytes: every text is its bytes.
Tokenizer byte_tokenizer() {
  static std::vector<std::string> spellings;
  if (spellings.empty()) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      spellings.push_back(spell_bytes(std::string(1, static_cast<char>(byte))));
    }
  }
  TokenizerParts parts;
  parts.vocab.assign(spellings.begin(), spellings.end());
  return Tokenizer::from_parts(parts);
}

TEST(Tokenizer, AnyBytesComeBackFromDecodeOfEncode) {
  const Tokenizer tokenizer = byte_tokenizer();
  std::string bytes;
  uint32_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    state = state * 1664525 + 1013904223;
    bytes.push_back(static_cast<char>(state >> 24));
  }
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(bytes)), bytes);
}

TEST(Tokenizer, NulIsAnOrdinaryCharacter) {
  const Tokenizer tokenizer = byte_tokenizer();
  const std::string text("a\0b", 3);
  EXPECT_EQ(tokenizer.encode(text), (Ids{'a', 0, 'b'}));
  EXPECT_EQ(tokenizer.decode(Ids{'a', 0, 'b'}), text);
}

}  // namespace
}  // namespace maglio

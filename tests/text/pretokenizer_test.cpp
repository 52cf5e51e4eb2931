#include "text/pretokenizer.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace maglio {
namespace {

using Chunks = std::vector<std::string_view>;

Chunks qwen2(std::string_view text) {
  return split_chunks(PreRules::qwen2, text);
}
Chunks llama(std::string_view text) {
  return split_chunks(PreRules::llama_bpe, text);
}
Chunks gpt2(std::string_view text) {
  return split_chunks(PreRules::gpt2, text);
}
Chunks smollm(std::string_view text) {
  return split_chunks(PreRules::smollm, text);
}
Chunks standard(std::string_view text) {
  return split_chunks(PreRules::standard, text);
}

TEST(Qwen2Chunks, EveryDigitStandsAlone) {
  EXPECT_EQ(qwen2("1234567"), (Chunks{"1", "2", "3", "4", "5", "6", "7"}));
  EXPECT_EQ(qwen2("3.14"), (Chunks{"3", ".", "1", "4"}));
}

TEST(Qwen2Chunks, ArabicIndicDigitsStandAlone) {
  EXPECT_EQ(qwen2("٣٤٥"), (Chunks{"٣", "٤", "٥"}));
}

TEST(Qwen2Chunks, ContractionsSplitOffInAnyLetterCase) {
  EXPECT_EQ(qwen2("don't"), (Chunks{"don", "'t"}));
  EXPECT_EQ(qwen2("DON'T I'LL'VE"), (Chunks{"DON", "'T", " I", "'LL", "'VE"}));
  EXPECT_EQ(qwen2("'Reach"), (Chunks{"'Re", "ach"})) << "'Re wins over the word";
  EXPECT_EQ(qwen2("it’s"), (Chunks{"it", "’s"})) << "only the ASCII apostrophe contracts";
  EXPECT_EQ(qwen2("a 's"), (Chunks{"a", " '", "s"})) << "the space takes the apostrophe";
  EXPECT_EQ(qwen2("'x"), (Chunks{"'x"}));
  EXPECT_EQ(qwen2("'"), (Chunks{"'"}));
}

TEST(Qwen2Chunks, PunctuationTakesOneSpaceBeforeAndAllNewlinesAfter) {
  EXPECT_EQ(qwen2("a ++\n\n\nb"), (Chunks{"a", " ++\n\n\n", "b"}));
  EXPECT_EQ(qwen2("(x):\n"), (Chunks{"(x", "):\n"}));
  EXPECT_EQ(qwen2("->"), (Chunks{"->"}));
  EXPECT_EQ(qwen2("!\r\n \n"), (Chunks{"!\r\n", " \n"}));
}

TEST(Qwen2Chunks, SpacesDonateTheirLastToTheWord) {
  EXPECT_EQ(qwen2("a   b"), (Chunks{"a", "  ", " b"}));
  EXPECT_EQ(qwen2("a   1"), (Chunks{"a", "  ", " ", "1"})) << "a digit takes no space";
  EXPECT_EQ(qwen2("a\t\tb"), (Chunks{"a", "\t", "\tb"})) << "any one character leads a word";
  EXPECT_EQ(qwen2("a   "), (Chunks{"a", "   "})) << "at the end there is no word";
  EXPECT_EQ(qwen2("a \n b"), (Chunks{"a", " \n", " b"})) << "a newline ends the run of spaces";
  EXPECT_EQ(qwen2(" "), (Chunks{" "}));
}

// The exercise of the chapter: write the chunks down before you run anything.
TEST(Qwen2Chunks, PredictTheChunks) {
  EXPECT_EQ(qwen2("I'll pay 42 euros!\n"),
            (Chunks{"I", "'ll", " pay", " ", "4", "2", " euros", "!\n"}));
}

TEST(Qwen2Chunks, MarksAreNeitherLettersNorDigits) {
  EXPECT_EQ(qwen2("कि"), (Chunks{"क", "ि"}));
  EXPECT_EQ(qwen2("1\u0300"), (Chunks{"1", "\u0300"}));
}

TEST(Qwen2Chunks, AByteThatIsNoUtf8StandsAloneAsASymbol) {
  EXPECT_EQ(qwen2("a\xE6\xAD"), (Chunks{"a", "\xE6\xAD"})) << "like two symbols in a row";
  EXPECT_EQ(qwen2("\xE6\xAD"
                  "b"),
            (Chunks{"\xE6\xAD", "b"}));
  EXPECT_EQ(qwen2("\xFF"
                  "b"),
            (Chunks{"\xFF"
                    "b"}))
      << "like one symbol that leads a word";
  EXPECT_EQ(qwen2(" \x80\n"), (Chunks{" \x80\n"}));
}

TEST(LlamaChunks, DigitsComeInThrees) {
  EXPECT_EQ(llama("1234567"), (Chunks{"123", "456", "7"}));
  EXPECT_EQ(llama("12٣45"), (Chunks{"12٣", "45"}));
  EXPECT_EQ(llama("3.14 x"), (Chunks{"3", ".", "14", " x"}));
}

TEST(Gpt2Chunks, RunsOfDigitsAndPunctuationTakeALeadingSpace) {
  EXPECT_EQ(gpt2("a 1234567 ++\n\nb"), (Chunks{"a", " 1234567", " ++", "\n", "\n", "b"}));
  EXPECT_EQ(gpt2("don't DON'T"), (Chunks{"don", "'t", " DON", "'", "T"}));
  EXPECT_EQ(gpt2("a   b  "), (Chunks{"a", "  ", " b", "  "}));
  EXPECT_EQ(gpt2("\tx"), (Chunks{"\t", "x"})) << "only a space leads a word";
}

TEST(SmollmChunks, DigitsCutTheTextBeforeAllElse) {
  EXPECT_EQ(smollm("a 12b"), (Chunks{"a", " ", "1", "2", "b"}));
  EXPECT_EQ(smollm("a   1"), (Chunks{"a", "   ", "1"})) << "spaces see no word behind them";
  EXPECT_EQ(smollm("x½y"), (Chunks{"x", "½", "y"}));
}

TEST(StandardChunks, PunctuationFirstThenWordsThenDigitsByThree) {
  EXPECT_EQ(standard("don't, 1234"), (Chunks{"don", "'", "t", ",", " ", "123", "4"}));
  EXPECT_EQ(standard("a`b €5"), (Chunks{"a", "`", "b", " €", "5"})) << "symbols are not set apart";
  EXPECT_EQ(standard("12٣4567"), (Chunks{"12٣", "456", "7"})) << "only ASCII digits by three";
  EXPECT_EQ(standard("a  ."), (Chunks{"a", "  ", "."}));
}

TEST(Chunks, JoinedTheyAreTheText) {
  const std::string text = "It's 12 ½ — \xFF\xE6 नमस्ते\r\n\t 'LL \u3000x\u2028 <|im_end|> +=1234567";
  for (PreRules rules : {PreRules::qwen2, PreRules::llama_bpe, PreRules::gpt2, PreRules::smollm,
                         PreRules::standard}) {
    std::string joined;
    for (std::string_view chunk : split_chunks(rules, text)) {
      EXPECT_FALSE(chunk.empty());
      joined.append(chunk);
    }
    EXPECT_EQ(joined, text);
    EXPECT_TRUE(split_chunks(rules, "").empty());
  }
}

}  // namespace
}  // namespace maglio

#include "text/pre_names.h"

#include <gtest/gtest.h>

#include <optional>
#include <string_view>

namespace maglio {
namespace {

PreRules rules_of(std::string_view name) {
  return find_pre_tokenizer(name).value().rules;
}

TEST(PreNames, TheFiveNamesHaveTheirRules) {
  EXPECT_EQ(rules_of("qwen2"), PreRules::qwen2);
  EXPECT_EQ(rules_of("smollm"), PreRules::smollm);
  EXPECT_EQ(rules_of("llama-bpe"), PreRules::llama_bpe);
  EXPECT_EQ(rules_of("gpt-2"), PreRules::gpt2);
  EXPECT_EQ(rules_of("default"), PreRules::standard);
}

TEST(PreNames, OtherNamesOfTheSameRulesAreKnown) {
  EXPECT_EQ(rules_of("deepseek-r1-qwen"), PreRules::qwen2);
  EXPECT_EQ(rules_of("megrez"), PreRules::qwen2);
  EXPECT_EQ(rules_of("llama-v3"), PreRules::llama_bpe);
  EXPECT_EQ(rules_of("falcon3"), PreRules::llama_bpe);
  EXPECT_EQ(rules_of("phi-2"), PreRules::gpt2);
  EXPECT_EQ(rules_of("starcoder"), PreRules::smollm);
  EXPECT_EQ(rules_of(""), PreRules::standard) << "a file without the key";
}

TEST(PreNames, OnlyLlama3TakesWholeWordsAndAddsBos) {
  EXPECT_TRUE(find_pre_tokenizer("llama-bpe")->whole_words);
  EXPECT_TRUE(find_pre_tokenizer("llama-bpe")->add_bos);
  EXPECT_FALSE(find_pre_tokenizer("smaug-bpe")->whole_words) << "the same chunks, no more";
  EXPECT_FALSE(find_pre_tokenizer("smaug-bpe")->add_bos);
  EXPECT_FALSE(find_pre_tokenizer("qwen2")->add_bos);
}

TEST(PreNames, AnUnknownNameIsUnknown) {
  EXPECT_EQ(find_pre_tokenizer("tekken").has_value(), false);
  EXPECT_EQ(find_pre_tokenizer("Qwen2").has_value(), false);
}

}  // namespace
}  // namespace maglio

// Statements of the chapter's section 12.7 that no other test pins (docs/coverage.md).
#include <gtest/gtest.h>

#include "decode/language_model.h"
#include "support/scripted_model.h"

namespace maglio {
namespace {

// A scripted model with one entry of the contract taken away.
struct WithoutAllLogits : test::ScriptedModel {
  void forward_step_all_logits() = delete;
};
struct WithoutStep : test::ScriptedModel {
  void forward_step() = delete;
};
struct WithBatch : test::ScriptedModel {
  Logits forward(std::span<const SpanOf<test::ScriptedCache>>) { return {nullptr, {0, 0}}; }
};

TEST(LanguageModelChapter, AllLogitsAreRequiredAndTheBatchIsOptional) {
  EXPECT_TRUE(LanguageModel<test::ScriptedModel>);
  EXPECT_FALSE(LanguageModel<WithoutAllLogits>);
  EXPECT_FALSE(LanguageModel<WithoutStep>);
  EXPECT_FALSE(BatchLanguageModel<test::ScriptedModel>);
  EXPECT_TRUE(BatchLanguageModel<WithBatch>);
}

}  // namespace
}  // namespace maglio

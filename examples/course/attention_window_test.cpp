#include "course/attention_window.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/loaded_model.h"

namespace maglio::course {
namespace {

TEST(AttentionWindow, OneThatHoldsThePromptChangesNothingAndASmallOneDoes) {
  const test::LoadedModel model({.config = test::tiny_config(Architecture::qwen3)});
  const auto prompt = test::random_prompt(100, 320);
  const size_t windows[] = {1, 16, 99, 100, 1000};
  const auto load = [&](size_t window) {
    return model.again({.n_threads = 1, .attn_window = window});
  };
  const auto errors = measure_windows(load, prompt, windows);
  ASSERT_EQ(errors.size(), 5u);
  EXPECT_GT(errors[0].relative_rms, errors[2].relative_rms);
  EXPECT_GT(errors[2].relative_rms, 0) << "the first token is out of sight";
  EXPECT_EQ(errors[3].relative_rms, 0);
  EXPECT_EQ(errors[4].relative_rms, 0);
}

}  // namespace
}  // namespace maglio::course

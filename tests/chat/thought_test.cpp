#include "chat/thought.h"

#include <gtest/gtest.h>

namespace maglio::chat {
namespace {

void expect_split(std::string_view answer,
                  std::string_view reasoning,
                  std::string_view content,
                  bool opened = false) {
  const SplitAnswer split = split_thought(answer, opened);
  EXPECT_EQ(split.reasoning, reasoning) << answer;
  EXPECT_EQ(split.content, content) << answer;
}

TEST(Thought, OnlyTheFirstClosingTagCounts_B52) {
  expect_split("<think>\na</think>b</think>c", "a", "b</think>c");
}

TEST(Thought, AnUnclosedThoughtIsAllReasoning_B52) {
  expect_split("<think>\na and so", "a and so", "");
  expect_split("<think>", "", "");
}

TEST(Thought, LineFeedsAroundItAreItsFrame) {
  expect_split("<think>\n\na\n b\n</think>\n\nB\n", "a\n b", "B\n");
  expect_split(" \n<think>a</think> B", "a", " B");
}

TEST(Thought, AnAnswerWithoutOneStaysAsItIs) {
  for (const char* text : {"", "\n\nB ", "B <think>x</think>", "a</think>b"}) {
    expect_split(text, "", text);
  }
}

TEST(Thought, OneThatThePromptHasOpenedBeginsWithTheAnswer) {
  EXPECT_TRUE(opens_thought("<|im_start|>assistant\n<think>\n"));
  EXPECT_TRUE(opens_thought("<think>"));
  EXPECT_FALSE(opens_thought("<think>\n\n</think>\n\n"));
  EXPECT_FALSE(opens_thought("assistant\n"));
  expect_split("a\n</think>\n\nB", "a", "B", true);
  expect_split("a and so", "a and so", "", true);
}

}  // namespace
}  // namespace maglio::chat

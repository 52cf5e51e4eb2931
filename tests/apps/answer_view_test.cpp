#include "maglio/repl/answer_view.h"

#include <gtest/gtest.h>

namespace maglio::app {
namespace {

std::string shown(std::string_view answer, AnswerStyle style) {
  AnswerView view(style);
  std::string out;
  for (char c : answer) out += view.push({&c, 1});
  return out + view.finish();
}

TEST(AnswerView, ThoughtIsDimWhereThereIsColour) {
  EXPECT_EQ(shown("<think>hm</think>Yes", {.colour = true, .terminal = true}),
            "\x1b[2m<think>hm</think>\x1b[0mYes\n");
  EXPECT_EQ(shown("<think>hm</think>Yes", {.terminal = true}), "<think>hm</think>Yes\n");
}

TEST(AnswerView, AThoughtThatIsCutLeavesThePlainColourBehind) {
  EXPECT_EQ(shown("<think>hm", {.colour = true}), "\x1b[2m<think>hm\x1b[0m\n");
}

TEST(AnswerView, AHiddenThoughtLeavesNoBlankLines) {
  EXPECT_EQ(shown("<think>\nhm\n</think>\n\nYes\n\nNo", {.hide_thinking = true}), "Yes\n\nNo\n");
  EXPECT_EQ(shown("<think>hm", {.colour = true, .hide_thinking = true}), "\n");
}

TEST(AnswerView, OffATerminalTheAnswerIsUnchanged) {
  EXPECT_EQ(shown("a\x1b[2Jb\r\nc", {}), "a\x1b[2Jb\r\nc\n");
}

TEST(AnswerView, OnATerminalTheModelCannotSteerIt) {
  EXPECT_EQ(shown("a\x1b[2Jb\r\nc", {.terminal = true}), "a^[[2Jb\nc\n");
}

TEST(AnswerView, ALineIsEndedOnce) {
  EXPECT_EQ(shown("Yes\n", {}), "Yes\n");
  EXPECT_EQ(shown("", {}), "\n");
}

}  // namespace
}  // namespace maglio::app

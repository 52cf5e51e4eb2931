#include "maglio/harmless.h"

#include <gtest/gtest.h>

namespace maglio::app {
namespace {

TEST(Harmless, TextPassesWithLineFeedsAndTabs) {
  EXPECT_EQ(harmless("a\tb\nc\n"), "a\tb\nc\n");
  EXPECT_EQ(harmless("grüß 日本 👩‍👧"), "grüß 日本 👩‍👧");
}

TEST(Harmless, EscapeSequencesAreShownAndNotObeyed) {
  EXPECT_EQ(harmless("\x1b]0;title\x07"), "^[]0;title^G");
  EXPECT_EQ(harmless("\x1b[2J\x1b[31m"), "^[[2J^[[31m");
  EXPECT_EQ(harmless(std::string("a\0b\x7f", 4)), "a^@b^?");
}

TEST(Harmless, ControlsOfLatin1AreReplaced) {
  EXPECT_EQ(harmless("a\xc2\x9b"
                     "2Jb"),
            "a\uFFFD2Jb");
  EXPECT_EQ(harmless("\xc2\x80\xc2\x9f"), "\uFFFD\uFFFD");
  EXPECT_EQ(harmless("\u00a0é"), "\u00a0é");  // the first that is none, and a letter
}

TEST(Harmless, ACarriageReturnCannotOverwriteTheLine) {
  EXPECT_EQ(harmless("yes\rno"), "yesno");
  EXPECT_EQ(harmless("a\r\nb"), "a\nb");
}

}  // namespace
}  // namespace maglio::app

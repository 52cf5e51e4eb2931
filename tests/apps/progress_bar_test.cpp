#include "maglio/progress_bar.h"

#include <gtest/gtest.h>

#include "maglio/prompt_note.h"

namespace maglio::app {
namespace {

TEST(ProgressBar, FillsFromLeftToRight) {
  EXPECT_EQ(progress_bar(0, 100), "[....................]");
  EXPECT_EQ(progress_bar(52, 100), "[##########..........]");
  EXPECT_EQ(progress_bar(100, 100), "[####################]");
  EXPECT_EQ(progress_bar(0, 0), "[####################]");
}

TEST(ProgressBar, APromptSaysTokensAndTheTimeLeft) {
  EXPECT_EQ(prompt_text(512, 4096, 512, 0), "reading [##..................] 512 of 4096 tokens");
  EXPECT_EQ(prompt_text(1024, 4096, 512, 2),
            "reading [#####...............] 1024 of 4096 tokens, 12 s left");
}

TEST(ProgressBar, APromptsSinkWantsMoreWithoutCtrlC) {
  const PromptSink sink = PromptNote::sink();
  EXPECT_TRUE(sink(512, 1024));
  EXPECT_TRUE(sink(1024, 1024));
  EXPECT_TRUE(sink(100, 200)) << "the next prompt";
}

}  // namespace
}  // namespace maglio::app

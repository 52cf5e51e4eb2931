#include "maglio/loading_note.h"

#include <gtest/gtest.h>

namespace maglio::app {
namespace {

TEST(LoadingNote, SaysHowMuchAndHowLong) {
  EXPECT_EQ(loading_text("m.gguf", 1'200'000'000, 4'800'000'000, 2.0),
            "loading m.gguf [#####...............] 1.2 of 4.8 GB, 6 s left");
  EXPECT_EQ(loading_text("m.gguf", 4'800'000'000, 4'800'000'000, 9.0),
            "loading m.gguf [####################] 4.8 of 4.8 GB, 0 s left");
}

TEST(LoadingNote, GuessesNoTimeBeforeAnythingIsDone) {
  EXPECT_EQ(loading_text("m.gguf", 0, 400'000'000, 0.3),
            "loading m.gguf [....................] 0.0 of 0.4 GB");
}

}  // namespace
}  // namespace maglio::app

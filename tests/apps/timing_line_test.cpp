#include "maglio/repl/timing_line.h"

#include <gtest/gtest.h>

namespace maglio::app {
namespace {

Reply reply(size_t prompt, size_t cached, size_t answer) {
  Reply r;
  r.ids.resize(answer);
  r.prompt_tokens = prompt;
  r.cached_tokens = cached;
  return r;
}

TEST(TimingLine, NamesReusedAndComputedTokensRatesAndTimes) {
  Reply r = reply(16, 12, 56);
  r.prompt_ms = 40;
  r.generation_ms = 1100;
  EXPECT_EQ(timing_line(r),
            "tokens: 4 + 12 reused, 100.0/s · first 0.04 s · answer 56, 50.0/s · all 1.14 s");
}

TEST(TimingLine, LeavesOutWhatWasNotMeasured) {
  Reply r = reply(5, 0, 1);
  r.prompt_ms = 100;
  EXPECT_EQ(timing_line(r), "tokens: 5, 50.0/s · first 0.10 s · answer 1 · all 0.10 s");
}

}  // namespace
}  // namespace maglio::app

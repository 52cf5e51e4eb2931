#include "maglio/logit_comparison.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "maglio/error.h"

namespace maglio::app {
namespace {

using Logits = std::vector<float>;

TEST(LogitComparison, MeasuresTheDifferences) {
  const LogitComparison c = compare_logits(Logits{1, 5, 3, 0}, Logits{1, 4, 3, 0});
  EXPECT_DOUBLE_EQ(c.max_abs, 1);
  EXPECT_DOUBLE_EQ(c.mean_abs, 0.25);
  EXPECT_DOUBLE_EQ(c.rms, 0.5);
  EXPECT_EQ(c.top, 1u);
  EXPECT_EQ(c.ref_top, 1u);
  EXPECT_TRUE(c.aligned);
}

TEST(LogitComparison, AlignedMeansTheFiveBestInOrder) {
  const Logits a = {6, 5, 4, 3, 2, 1};
  EXPECT_TRUE(compare_logits(a, Logits{6, 5, 4, 3, 2, 1.5f}).aligned);
  EXPECT_FALSE(compare_logits(a, Logits{6, 5, 4, 3, 1, 2}).aligned);
  EXPECT_FALSE(compare_logits(a, Logits{6, 5, 3, 4, 2, 1}).aligned);
  EXPECT_EQ(compare_logits(Logits{7, 7}, Logits{7, 7}).top, 0u);
}

TEST(LogitComparison, RefusesAnotherSize) {
  try {
    compare_logits(Logits{1, 2}, Logits{1, 2, 3});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "LogitsShapeMismatch");
  }
  EXPECT_THROW(parse_logits("abc", "f"), Error);
  EXPECT_THROW(parse_logits("", "f"), Error);
}

TEST(LogitComparison, ReadsRawLittleEndianFloats) {
  EXPECT_EQ(parse_logits(std::string("\x00\x00\x80\x3f\x00\x00\x00\xc0", 8), "f"), (Logits{1, -2}));
}

}  // namespace
}  // namespace maglio::app

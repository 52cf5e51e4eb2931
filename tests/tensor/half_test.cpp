#include "tensor/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace maglio {
namespace {

TEST(Half, EveryHalfSurvivesTheRoundTripThroughFloat) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half h{static_cast<uint16_t>(bits)};
    const float f = to_float(h);
    if (std::isnan(f)) {
      EXPECT_TRUE(std::isnan(to_float(to_half(f)))) << bits;
    } else {
      ASSERT_EQ(to_half(f).bits, h.bits) << bits;
    }
  }
}

TEST(Half, NarrowingRoundsToNearestEven) {
  // Halfway between each pair of neighbours the even one wins; one ulp beside it, the nearer one.
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const float low = to_float(Half{static_cast<uint16_t>(bits)});
    const float high = to_float(Half{static_cast<uint16_t>(bits + 1)});
    const float middle = low + (high - low) / 2;  // exact: the f32 has 13 bits to spare
    const uint32_t even = (bits & 1) ? bits + 1 : bits;
    ASSERT_EQ(to_half(middle).bits, even) << bits;
    ASSERT_EQ(to_half(std::nextafter(middle, 0.0f)).bits, bits) << bits;
    ASSERT_EQ(to_half(std::nextafter(middle, 1e9f)).bits, bits + 1) << bits;
    ASSERT_EQ(to_half(-middle).bits, even | 0x8000u) << bits;
  }
}

TEST(Half, OverflowBecomesInfinity) {
  EXPECT_EQ(to_half(65519.996f).bits, 0x7bff);
  EXPECT_EQ(to_half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(to_half(-1e30f).bits, 0xfc00);
  EXPECT_EQ(to_half(std::numeric_limits<float>::infinity()).bits, 0x7c00);
}

TEST(BFloat16, RoundsToNearestEvenAndWidensExactly) {
  EXPECT_EQ(to_float(BFloat16{0x3f80}), 1.0f);
  EXPECT_EQ(to_bfloat16(std::bit_cast<float>(0x3f808000u)).bits, 0x3f80);
  EXPECT_EQ(to_bfloat16(std::bit_cast<float>(0x3f818000u)).bits, 0x3f82);
  EXPECT_EQ(to_bfloat16(std::bit_cast<float>(0x3f808001u)).bits, 0x3f81);
  EXPECT_TRUE(std::isnan(to_float(to_bfloat16(std::numeric_limits<float>::quiet_NaN()))));
}

}  // namespace
}  // namespace maglio

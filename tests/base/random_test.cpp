#include "base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace maglio {
namespace {

// The published C code of the two generators, written out again: state by hand, then the steps.
struct Reference {
  uint64_t s[4];
  static uint64_t rotl(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  uint64_t next() {
    const uint64_t result = rotl(s[0] + s[3], 23) + s[0];
    const uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
  }
};

TEST(Random, SeedIsSpreadBySplitmix64) {
  // The first four outputs of splitmix64 from 1234567, as published with it.
  Reference reference{
      {6457827717110365317u, 3203168211198807973u, 9817491932198370423u, 4593380528125082431u}};
  Random random(1234567);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(random.next(), reference.next()) << i;
}

TEST(Random, StepsAreXoshiro256PlusPlus) {
  // The first outputs from the state {1, 2, 3, 4}, as known from other implementations.
  Reference reference{{1, 2, 3, 4}};
  EXPECT_EQ(reference.next(), 41943041u);
  EXPECT_EQ(reference.next(), 58720359u);
  EXPECT_EQ(reference.next(), 3588806011781223u);
  EXPECT_EQ(reference.next(), 3591011842654386u);
}

TEST(Random, SequenceIsGolden) {
  Random random(42);
  const std::array<uint64_t, 4> golden = {15021278609987233951u, 5881210131331364753u,
                                          18149643915985481100u, 12933668939759105464u};
  for (uint64_t value : golden) EXPECT_EQ(random.next(), value);
}

TEST(Random, UniformIsTheTop24BitsOfOneDraw) {
  Random a(7), b(7);
  for (int i = 0; i < 1000; ++i) {
    const float u = a.uniform();
    EXPECT_EQ(u, static_cast<float>(b.next() >> 40) / 16777216.0f);
    EXPECT_GE(u, 0.0f);
    EXPECT_LT(u, 1.0f);
  }
}

TEST(Random, ZeroIsASeedLikeAnyOther) {
  Random zero(0), one(1);
  EXPECT_NE(zero.next(), one.next());
  EXPECT_NE(zero.next(), 0u);
}

}  // namespace
}  // namespace maglio

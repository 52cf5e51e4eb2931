// The limit kernels do what their figures claim: they read every byte, and count what they
// multiply.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "base/aligned_bytes.h"
#include "kernels/kernels.h"
#include "kernels/registry.h"
#include "kernels/tested_kernels.h"

namespace maglio {
namespace {

AlignedBytes random_bytes(size_t n) {
  AlignedBytes bytes(n);
  std::mt19937 rng(1);
  for (size_t i = 0; i < n; ++i) bytes.data()[i] = static_cast<std::byte>(rng());
  return bytes;
}

uint32_t sum_of_dwords(const std::byte* bytes, size_t n_bytes) {
  uint32_t sum = 0;
  for (size_t i = 0; i < n_bytes; i += 4) {
    uint32_t dword = 0;
    std::memcpy(&dword, bytes + i, 4);
    sum += dword;
  }
  return sum;
}

TEST(Limits, ReadingSumsEveryDword) {
  for (const Kernels* kernels : test::tested_kernels()) {
    for (const size_t n_lines : {0, 1, 2, 3, 4, 5, 7, 8, 9, 64, 1001}) {
      const AlignedBytes bytes = random_bytes(n_lines * 64);
      const uint32_t sum = sum_of_dwords(bytes.data(), bytes.size());
      for (const size_t ahead : {0, 64, 8192}) {
        EXPECT_EQ(kernels->limits.read(bytes.data(), bytes.size(), ahead), sum)
            << kernels->name << ' ' << n_lines << ' ' << ahead;
      }
    }
  }
}

// The operands are ones, so what comes back is the number of products that were summed.
TEST(Limits, EveryRoundDoesTheSameNumberOfMultiplyAdds) {
  for (const Kernels* kernels : test::tested_kernels()) {
    for (const auto multiply_adds : kernels->limits.multiply_adds) {
      const uint64_t of_one = multiply_adds(1);
      EXPECT_GE(of_one, 1000u) << kernels->name;
      EXPECT_EQ(of_one % 16, 0u) << kernels->name;
      EXPECT_EQ(multiply_adds(0), 0u) << kernels->name;
      EXPECT_EQ(multiply_adds(7), 7 * of_one) << kernels->name;
    }
  }
}

// A step of a lane is one f32 product, two int16 products or four byte products.
TEST(Limits, NarrowerClassesMultiplyMoreInAStep) {
  for (const Kernels* kernels : test::tested_kernels()) {
    const auto of = [&](ActivationClass c) {
      return kernels->limits.multiply_adds[static_cast<size_t>(c)](1);
    };
    EXPECT_EQ(of(ActivationClass::a16), 2 * of(ActivationClass::f32)) << kernels->name;
    EXPECT_EQ(of(ActivationClass::a8), 4 * of(ActivationClass::f32)) << kernels->name;
    EXPECT_EQ(of(ActivationClass::a8k), 4 * of(ActivationClass::f32)) << kernels->name;
  }
}

}  // namespace
}  // namespace maglio

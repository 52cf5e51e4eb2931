// Row kernels of every instruction set against plain loops in the same order: equality.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/math.h"
#include "kernels/registry.h"
#include "kernels/tested_kernels.h"

namespace maglio {
namespace {

using Row = std::vector<float>;

Row random_row(size_t n, uint32_t seed, float scale = 1) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0, scale);
  Row row(n);
  for (float& x : row) x = normal(rng);
  return row;
}

const std::vector<size_t> kLengths = [] {
  std::vector<size_t> lengths = {80, 96, 128, 576, 1000, 1024, 1027};
  for (size_t n = 1; n <= 50; ++n) lengths.push_back(n);
  return lengths;
}();

float tree_sum(std::array<float, 16> lanes) {
  for (size_t n = 8; n >= 1; n /= 2) {
    for (size_t i = 0; i < n; ++i) lanes[i] += lanes[i + n];
  }
  return lanes[0];
}

TEST(RmsNorm, DividesByTheRootMeanSquareInSixteenLanes) {
  for (const Kernels* kernels : test::tested_kernels()) {
    for (const size_t n : kLengths) {
      const Row x = random_row(n, 1), weight = random_row(n, 2);
      std::array<float, 16> lanes{};
      for (size_t i = 0; i < n; ++i) lanes[i % 16] = std::fma(x[i], x[i], lanes[i % 16]);
      const float scale = 1.0f / std::sqrt(tree_sum(lanes) / static_cast<float>(n) + 1e-6f);
      Row out(n, 9);
      kernels->rows.rms_norm(x.data(), weight.data(), 1e-6f, n, out.data());
      for (size_t i = 0; i < n; ++i) {
        ASSERT_EQ(out[i], x[i] * scale * weight[i]) << kernels->name << ' ' << n << ' ' << i;
      }
      Row in_place = x;
      kernels->rows.rms_norm(in_place.data(), weight.data(), 1e-6f, n, in_place.data());
      EXPECT_EQ(in_place, out);
    }
  }
}

TEST(RmsNorm, ByHand) {
  // mean(3^2, 4^2) = 12.5; with eps = 12.5 the root is 5.
  const Row x = {3, 4}, weight = {1, 10};
  for (const Kernels* kernels : test::tested_kernels()) {
    Row out(2);
    kernels->rows.rms_norm(x.data(), weight.data(), 12.5f, 2, out.data());
    EXPECT_FLOAT_EQ(out[0], 0.6f);
    EXPECT_FLOAT_EQ(out[1], 8.0f);
    const Row zeros(2, 0.0f);
    kernels->rows.rms_norm(zeros.data(), weight.data(), 1e-6f, 2, out.data());
    EXPECT_EQ(out, zeros);
  }
}

TEST(Rope, HalfAndInterleavedRotateTheirPairs) {
  for (const Kernels* kernels : test::tested_kernels()) {
    for (const size_t half : {1, 8, 15, 16, 17, 32, 40, 64}) {
      const Row x = random_row(2 * half, 3);
      Row cos(half), sin(half);
      for (size_t i = 0; i < half; ++i) {
        const SinCos angle = sin_cos({static_cast<double>(i) * 0.7, 0});
        cos[i] = angle.cos;
        sin[i] = angle.sin;
      }
      Row by_half = x, by_neighbours = x;
      kernels->rows.rope_half(by_half.data(), cos.data(), sin.data(), half);
      kernels->rows.rope_interleaved(by_neighbours.data(), cos.data(), sin.data(), half);
      const auto first = [&](float a, float b, size_t i) {
        return std::fma(-b, sin[i], a * cos[i]);
      };
      const auto second = [&](float a, float b, size_t i) {
        return std::fma(a, sin[i], b * cos[i]);
      };
      for (size_t i = 0; i < half; ++i) {
        ASSERT_EQ(by_half[i], first(x[i], x[i + half], i)) << kernels->name << ' ' << half;
        ASSERT_EQ(by_half[i + half], second(x[i], x[i + half], i)) << kernels->name << ' ' << half;
        ASSERT_EQ(by_neighbours[2 * i], first(x[2 * i], x[2 * i + 1], i)) << kernels->name;
        ASSERT_EQ(by_neighbours[2 * i + 1], second(x[2 * i], x[2 * i + 1], i)) << kernels->name;
      }
    }
  }
}

TEST(Swiglu, IsGateTimesSigmoidTimesUp) {
  for (const Kernels* kernels : test::tested_kernels()) {
    for (const size_t n : kLengths) {
      const Row gate = random_row(n, 4, 4), up = random_row(n, 5);
      Row out(n);
      kernels->rows.swiglu(gate.data(), up.data(), n, out.data());
      for (size_t i = 0; i < n; ++i) {
        ASSERT_EQ(out[i], gate[i] / (1.0f + exp_f32(-gate[i])) * up[i])
            << kernels->name << ' ' << n;
      }
    }
    const Row gate = {-200, 200, 0}, up = {3, 3, 3};
    Row out(3);
    kernels->rows.swiglu(gate.data(), up.data(), 3, out.data());
    EXPECT_EQ(out, (Row{0, 600, 0}));
  }
}

TEST(AddRow, AddsInPlaceAndNothingBeyondTheEnd) {
  for (const Kernels* kernels : test::tested_kernels()) {
    for (const size_t n : kLengths) {
      const Row x = random_row(n, 6), y = random_row(n, 7);
      Row sum = x;
      sum.push_back(42);  // beyond the end
      kernels->rows.add(sum.data(), y.data(), n);
      for (size_t i = 0; i < n; ++i) ASSERT_EQ(sum[i], x[i] + y[i]) << kernels->name << ' ' << n;
      EXPECT_EQ(sum[n], 42.0f);
    }
  }
}

TEST(ExpSum, SumsInSixteenLanesWithoutTheMissingOnes) {
  for (const Kernels* kernels : test::tested_kernels()) {
    for (const size_t n : kLengths) {
      const Row x = random_row(n, 8, 5);
      Row out(n);
      const float sum = kernels->rows.exp_sum(x.data(), 2.5f, n, out.data());
      std::array<float, 16> lanes{};
      for (size_t i = 0; i < n; ++i) {
        ASSERT_EQ(out[i], exp_f32(x[i] - 2.5f));
        lanes[i % 16] += out[i];
      }
      EXPECT_EQ(sum, tree_sum(lanes)) << kernels->name << ' ' << n;
    }
  }
}

TEST(MaxOfRow, FindsTheHighestAnywhere) {
  for (const Kernels* kernels : test::tested_kernels()) {
    for (const size_t n : kLengths) {
      for (const size_t at : {size_t{0}, n / 2, n - 1}) {
        Row x(n, -7.0f);
        x[at] = -3.0f;
        EXPECT_EQ(kernels->rows.max(x.data(), n), -3.0f) << kernels->name << ' ' << n;
      }
    }
  }
}

TEST(AllFinite, SeesOneBadValueAnywhere) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const Kernels* kernels : test::tested_kernels()) {
    for (const size_t n : kLengths) {
      Row x(n, std::numeric_limits<float>::max());
      EXPECT_TRUE(kernels->rows.all_finite(x.data(), n)) << kernels->name << ' ' << n;
      for (const float bad : {inf, -inf, std::numeric_limits<float>::quiet_NaN()}) {
        for (const size_t at : {size_t{0}, n / 2, n - 1}) {
          x[at] = bad;
          EXPECT_FALSE(kernels->rows.all_finite(x.data(), n)) << kernels->name << ' ' << n;
          x[at] = 1;
        }
      }
    }
  }
}

}  // namespace
}  // namespace maglio

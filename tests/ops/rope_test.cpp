#include "ops/rope.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/registry.h"

namespace maglio {
namespace {

using Row = std::vector<float>;

struct Bench {
  explicit Bench(size_t n_threads = 1, const Kernels& kernels = active_kernels())
      : pool(n_threads), cx{pool, arena, kernels}, scope(arena) {}
  ThreadPool pool;
  Arena arena;
  Context cx;
  Arena::Scope scope;
};

Row random_row(size_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  Row row(n);
  for (float& x : row) x = normal(rng);
  return row;
}

// One head at one position.
Row rotated(Row x, size_t position, float base, RopePairing pairing) {
  Bench bench;
  const RopeFrequencies frequencies(x.size(), base);
  const RopeTable table = make_rope_table(bench.cx, frequencies, pairing, {&position, 1});
  rope(bench.cx, Tensor<float, Seq, Head, Dim>(x.data(), {1, 1, x.size()}), table);
  return x;
}

double dot(const Row& a, const Row& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// In units of the last place of an f32 of the exact value's size.
double ulps(float x, long double exact) {
  const auto magnitude = static_cast<float>(std::abs(exact));
  const float next = std::nextafter(magnitude, std::numeric_limits<float>::infinity());
  return static_cast<double>(
      std::abs(static_cast<long double>(x) - exact) /
      (static_cast<long double>(next) - static_cast<long double>(magnitude)));
}

TEST(RopeTable, IsWithinOneUlpOfTheExactAngles) {
  const std::vector<std::pair<float, size_t>> models = {
      {1e4f, 64}, {1e6f, 128}, {5e5f, 128}, {1e7f, 96}};
  for (const auto& [base, head_dim] : models) {
    const RopeFrequencies frequencies(head_dim, base);
    double worst = 0;
    for (size_t i = 0; i < head_dim / 2; ++i) {
      // Long double keeps the angle to 131,072 * 2^-64 = 7e-15.
      const long double frequency =
          std::pow(static_cast<long double>(base),
                   -2 * static_cast<long double>(i) / static_cast<long double>(head_dim));
      for (size_t position = 0; position <= 131072; position += position < 300 ? 1 : 509) {
        const long double angle = static_cast<long double>(position) * frequency;
        const SinCos y = frequencies.at(position, i);
        worst = std::max({worst, ulps(y.sin, std::sin(angle)), ulps(y.cos, std::cos(angle))});
      }
    }
    EXPECT_LT(worst, 1.0) << base << ' ' << head_dim;
  }
}

TEST(RopeTable, HasARowForEachPositionOnAnyThreadCount) {
  const std::vector<size_t> positions = {7, 8, 9, 131072, 0, 41};
  for (const size_t n_threads : {1, 2, 5}) {
    Bench bench(n_threads);
    const RopeFrequencies frequencies(64, 1e6f);
    const RopeTable table = make_rope_table(bench.cx, frequencies, RopePairing::half, positions);
    for (size_t row = 0; row < positions.size(); ++row) {
      for (size_t i = 0; i < 32; ++i) {
        EXPECT_EQ(table.cos(row, i), frequencies.at(positions[row], i).cos);
        EXPECT_EQ(table.sin(row, i), frequencies.at(positions[row], i).sin);
      }
    }
  }
}

TEST(Rope, ScoresDependOnTheDistanceAlone) {
  const Row q = random_row(64, 1), k = random_row(64, 2);
  for (const RopePairing pairing : {RopePairing::half, RopePairing::interleaved}) {
    const auto score = [&](size_t pq, size_t pk) {
      return dot(rotated(q, pq, 1e4f, pairing), rotated(k, pk, 1e4f, pairing));
    };
    EXPECT_NEAR(score(5, 3), score(12, 10), 1e-5);
    EXPECT_NEAR(score(5, 3), score(2, 0), 1e-5);
    EXPECT_NEAR(score(5, 3), score(100002, 100000), 1e-4);
    EXPECT_GT(std::abs(score(5, 3) - score(5, 1)), 1e-3);
  }
}

TEST(Rope, PositionZeroIsTheIdentity) {
  const Row x = random_row(128, 3);
  EXPECT_EQ(rotated(x, 0, 1e6f, RopePairing::half), x);
  EXPECT_EQ(rotated(x, 0, 1e6f, RopePairing::interleaved), x);
}

TEST(Rope, PositionOneTurnsPairZeroByOneRadian) {
  const auto c = static_cast<float>(std::cos(1.0L)), s = static_cast<float>(std::sin(1.0L));
  // Pair 0 is channels 0 and 2 of 4 in halves, channels 0 and 1 interleaved.
  const Row half = rotated({1, 0, 0, 0}, 1, 1e6f, RopePairing::half);
  EXPECT_EQ(half, (Row{c, 0, s, 0}));
  const Row second = rotated({0, 0, 1, 0}, 1, 1e6f, RopePairing::half);
  EXPECT_EQ(second, (Row{-s, 0, c, 0}));
  const Row interleaved = rotated({1, 0, 0, 0}, 1, 1e6f, RopePairing::interleaved);
  EXPECT_EQ(interleaved, (Row{c, s, 0, 0}));
}

TEST(Rope, LaterPairsTurnByTheirOwnFrequency) {
  // head_dim 4, base 100: pair 1 turns by 1/10 a position.
  const RopeFrequencies frequencies(4, 100);
  EXPECT_EQ(frequencies.at(5, 1).cos, static_cast<float>(std::cos(0.5L)));
  const RopeFrequencies scaled(4, 100, {.factor = 4});
  EXPECT_EQ(scaled.at(20, 1).cos, static_cast<float>(std::cos(0.5L)));
  const Row divisors = {1, 2};
  const RopeFrequencies stretched(4, 100, {.divisors = divisors});
  EXPECT_EQ(stretched.at(10, 1).cos, static_cast<float>(std::cos(0.5L)));
  EXPECT_EQ(stretched.at(10, 0).cos, static_cast<float>(std::cos(10.0L)));
}

TEST(Rope, FusedNormGivesTheBitsOfNormThenRope) {
  constexpr size_t kRows = 9, kHeads = 3, kDim = 64;
  const Row weight = random_row(kDim, 4);
  const Norm<Dim> norm{.weight = weight, .eps = 1e-6f};
  std::vector<size_t> positions(kRows);
  std::iota(positions.begin(), positions.end(), 37);
  Row first;
  for (const Kernels* kernels : available_kernels()) {
    for (const size_t n_threads : {1, 3}) {
      Bench bench(n_threads, *kernels);
      const RopeFrequencies frequencies(kDim, 1e6f);
      const RopeTable table = make_rope_table(bench.cx, frequencies, RopePairing::half, positions);
      // Heads inside wider rows, as fused projections leave them.
      constexpr size_t kStride = kHeads * kDim + 32;
      Row fused = random_row(kRows * kStride, 5);
      const Row before = fused;
      const Tensor<float, Seq, KvHead, Dim> x(fused.data(), {kRows, kHeads, kDim},
                                              {kStride, kDim, 1});
      rms_norm_rope(bench.cx, x, norm, table);
      for (size_t row = 0; row < kRows; ++row) {
        for (size_t h = 0; h < kHeads; ++h) {
          Row head(kDim);
          const float* from = before.data() + row * kStride + h * kDim;
          kernels->rows.rms_norm(from, weight.data(), 1e-6f, kDim, head.data());
          head = rotated(head, positions[row], 1e6f, RopePairing::half);
          for (size_t c = 0; c < kDim; ++c) ASSERT_EQ(x(row, h, c), head[c]) << kernels->name;
        }
        for (size_t c = kHeads * kDim; c < kStride; ++c) {  // what lies beside is untouched
          ASSERT_EQ(fused[row * kStride + c], before[row * kStride + c]);
        }
      }
      if (first.empty()) first = fused;
      EXPECT_EQ(fused, first) << kernels->name << ' ' << n_threads;
    }
  }
}

}  // namespace
}  // namespace maglio

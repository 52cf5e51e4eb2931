// Own exp, log, sine and cosine against the C library in higher precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/math.h"
#include "kernels/registry.h"
#include "kernels/tested_kernels.h"

namespace maglio {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// Distance to the exact value in units of the last place of an f32 of its size.
double ulps(float x, long double exact) {
  const auto magnitude = static_cast<float>(std::abs(exact));
  const float next = std::nextafter(magnitude, kInf);
  const long double ulp = static_cast<long double>(next) - static_cast<long double>(magnitude);
  return static_cast<double>(std::abs(static_cast<long double>(x) - exact) / ulp);
}

TEST(Exp, IsWithinAnUlpOfTheExactValue) {
  double worst = 0;
  // Every 4999th f32 from -104 to 88.72; all of them were measured once: 1.009 ulp.
  for (uint32_t bits = 0; bits <= 0x42d00000u; bits += 4999) {
    const float x = std::bit_cast<float>(bits);
    worst = std::max(worst, ulps(exp_f32(-x), std::exp(-static_cast<long double>(x))));
    if (x < 88.72f)
      worst = std::max(worst, ulps(exp_f32(x), std::exp(static_cast<long double>(x))));
  }
  EXPECT_LT(worst, 1.01);
}

TEST(Exp, IsExactWhereItMatters) {
  EXPECT_EQ(exp_f32(0.0f), 1.0f);
  EXPECT_EQ(exp_f32(-0.0f), 1.0f);
  EXPECT_EQ(exp_f32(-kInf), 0.0f);
  EXPECT_EQ(exp_f32(-200.0f), 0.0f);
  EXPECT_EQ(exp_f32(kInf), kInf);
  EXPECT_EQ(exp_f32(88.73f), kInf);
  EXPECT_LT(exp_f32(88.72f), kInf);
  EXPECT_GT(exp_f32(-103.9f), 0.0f);  // the least subnormal
  EXPECT_TRUE(std::isnan(exp_f32(std::numeric_limits<float>::quiet_NaN())));
}

TEST(Exp, OfTheKernelsHasTheBitsOfTheScalarFunction) {
  std::vector<float> x = {0.0f, -0.0f, -kInf, kInf, 88.73f, 88.72f, -103.9f, -105.5f, 1e-30f};
  std::mt19937 rng(7);
  std::uniform_real_distribution<float> wide(-110, 95), narrow(-2, 2);
  for (int i = 0; i < 20000; ++i) x.push_back(i % 2 ? wide(rng) : narrow(rng));
  for (const Kernels* kernels : test::tested_kernels()) {
    std::vector<float> out(x.size());
    kernels->rows.exp_sum(x.data(), 0.0f, x.size(), out.data());
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(out[i], exp_f32(x[i])) << kernels->name << ' ' << x[i];
    }
    const float nan = std::numeric_limits<float>::quiet_NaN();
    float result = 0;
    EXPECT_TRUE(std::isnan(kernels->rows.exp_sum(&nan, 0.0f, 1, &result))) << kernels->name;
  }
}

TEST(Log, IsCorrectlyRoundedButForRareHalves) {
  double worst = 0;
  for (uint32_t bits = 1; bits < 0x7f800000u; bits += 7919) {
    const float x = std::bit_cast<float>(bits);
    if (x == 1) continue;
    worst = std::max(worst, ulps(log_f32(x), std::log(static_cast<long double>(x))));
  }
  for (float x = 0.9f; x < 1.1f; x = std::nextafter(x + 1e-6f, 2.0f)) {  // where it is near zero
    if (x != 1) worst = std::max(worst, ulps(log_f32(x), std::log(static_cast<long double>(x))));
  }
  EXPECT_LT(worst, 0.501);
  EXPECT_EQ(log_f32(1.0f), 0.0f);
  EXPECT_EQ(log_f32(0.0f), -kInf);
  EXPECT_EQ(log_f32(kInf), kInf);
  EXPECT_TRUE(std::isnan(log_f32(-1.0f)));
}

TEST(SinCos, IsCorrectlyRoundedButForRareHalves) {
  std::mt19937 rng(11);
  std::uniform_real_distribution<double> angles(-200000, 200000), small(-4, 4);
  double worst = 0;
  for (int i = 0; i < 200000; ++i) {
    const double x = i % 2 ? angles(rng) : small(rng);
    const SinCos y = sin_cos({x, 0});
    worst = std::max(worst, ulps(y.sin, std::sin(static_cast<long double>(x))));
    worst = std::max(worst, ulps(y.cos, std::cos(static_cast<long double>(x))));
  }
  EXPECT_LT(worst, 0.501);
  EXPECT_EQ(sin_cos({0, 0}).sin, 0.0f);
  EXPECT_EQ(sin_cos({0, 0}).cos, 1.0f);
}

TEST(InverseRoot, HasTwiceTheDigitsOfADouble) {
  for (const double base : {1e4, 5e5, 1e6, 1e7, 2.5}) {
    for (const size_t n : {1, 16, 32, 40, 48, 64, 128}) {
      const DoubleDouble x = inverse_root(base, n);
      DoubleDouble product{base, 0};
      for (size_t i = 0; i < n; ++i) product = multiply(product, x);
      const double error = (product.high - 1) + product.low;
      EXPECT_LT(std::abs(error), 1e-28) << base << ' ' << n;
    }
  }
}

}  // namespace
}  // namespace maglio

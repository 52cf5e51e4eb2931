#include "kernels/math.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/generic/exp_constants.h"

namespace maglio {
namespace {

// To the nearest integer, ties to even: the sum's last bit is the unit. |x| < 2^51.
double round_to_integer(double x) {
  constexpr double kShift = 0x1.8p52;
  return (x + kShift) - kShift;
}

float round_to_integer(float x) {
  constexpr float kShift = 0x1.8p23f;
  return (x + kShift) - kShift;
}

float power_of_two(int32_t n) {
  return std::bit_cast<float>(static_cast<uint32_t>(n + 127) << 23);
}

// a + b without error. Requires: |a| >= |b|, or a == 0.
DoubleDouble quick_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

DoubleDouble power(DoubleDouble x, size_t n) {
  DoubleDouble result{1, 0};
  for (; n > 0; n >>= 1) {
    if (n & 1) result = multiply(result, x);
    x = multiply(x, x);
  }
  return result;
}

// Taylor series on |r| <= pi / 4; the first omitted term is below 3e-14 of the result.
double sin_quarter(double r) {
  const double z = r * r;
  double p = 1.0 / 6227020800.0;  // 1 / 13!
  p = std::fma(p, z, -1.0 / 39916800.0);
  p = std::fma(p, z, 1.0 / 362880.0);
  p = std::fma(p, z, -1.0 / 5040.0);
  p = std::fma(p, z, 1.0 / 120.0);
  p = std::fma(p, z, -1.0 / 6.0);
  return std::fma(r * z, p, r);
}

double cos_quarter(double r) {
  const double z = r * r;
  double p = -1.0 / 87178291200.0;  // 1 / 14!
  p = std::fma(p, z, 1.0 / 479001600.0);
  p = std::fma(p, z, -1.0 / 3628800.0);
  p = std::fma(p, z, 1.0 / 40320.0);
  p = std::fma(p, z, -1.0 / 720.0);
  p = std::fma(p, z, 1.0 / 24.0);
  p = std::fma(p, z, -0.5);
  return std::fma(z, p, 1.0);
}

}  // namespace

float exp_f32(float x) {
  using namespace exp_constants;
  if (std::isnan(x)) return x;
  x = std::max(kLowest, std::min(kHighest, x));
  const float n_f = round_to_integer(x * kLog2E);
  float r = std::fma(-n_f, kLn2High, x);
  r = std::fma(-n_f, kLn2Low, r);
  float q = kQ4;
  q = std::fma(q, r, kQ3);
  q = std::fma(q, r, kQ2);
  q = std::fma(q, r, kQ1);
  q = std::fma(q, r, kQ0);
  const float y = 1.0f + std::fma(r * r, q, r);
  const auto n = static_cast<int32_t>(n_f);
  const auto half = static_cast<int32_t>(round_to_integer(n_f * 0.5f));
  return y * power_of_two(half) * power_of_two(n - half);
}

float log_f32(float x) {
  if (std::isnan(x) || x < 0) return std::numeric_limits<float>::quiet_NaN();
  if (x == 0) return -std::numeric_limits<float>::infinity();
  if (std::isinf(x)) return x;
  // x = 2^n m with m in [sqrt(1/2), sqrt(2)); a double holds every f32 as a normal number.
  constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
  const uint64_t bits = std::bit_cast<uint64_t>(static_cast<double>(x)) - kSqrtHalf;
  const auto n = static_cast<double>(static_cast<int64_t>(bits) >> 52);
  const double m = std::bit_cast<double>((bits & 0xfffffffffffffull) + kSqrtHalf);
  // log m = 2 (s + s^3/3 + s^5/5 + ...), s = (m - 1) / (m + 1), |s| < 0.172
  const double s = (m - 1) / (m + 1);
  const double z = s * s;
  double p = 2.0 / 15;
  for (int k = 13; k >= 3; k -= 2) p = std::fma(p, z, 2.0 / k);
  constexpr double kLn2 = 0x1.62e42fefa39efp-1;
  return static_cast<float>(std::fma(n, kLn2, std::fma(s * z, p, 2 * s)));
}

DoubleDouble multiply(DoubleDouble a, DoubleDouble b) {
  const double product = a.high * b.high;
  double error = std::fma(a.high, b.high, -product);
  error = std::fma(a.high, b.low, error);
  error = std::fma(a.low, b.high, error);
  return quick_sum(product, error);
}

DoubleDouble divide(DoubleDouble a, double b) {
  const double quotient = a.high / b;
  const double remainder = std::fma(-quotient, b, a.high) + a.low;
  return quick_sum(quotient, remainder / b);
}

DoubleDouble inverse_root(double base, size_t n) {
  assert(base > 0 && std::isfinite(base) && n >= 1);
  // By halves to a double's last bit, then one step of Newton's, which doubles the digits:
  // x' = x (1 + (1 - base x^n) / n).
  double low = 0, high = std::max(1.0, 1 / base);
  for (double x = high / 2; low < x && x < high; x = low + (high - low) / 2) {
    (base * power({x, 0}, n).high < 1 ? low : high) = x;
  }
  const DoubleDouble product = multiply(power({high, 0}, n), {base, 0});
  const double error = (1 - product.high) - product.low;
  return quick_sum(high, high * error / static_cast<double>(n));
}

SinCos sin_cos(DoubleDouble angle) {
  assert(std::abs(angle.high) <= 0x1p31);
  constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
  constexpr double kHalfPiHigh = 0x1.921fb54442d18p+0;
  constexpr double kHalfPiLow = 0x1.1a62633145c07p-54;
  const double n = round_to_integer(angle.high * kTwoOverPi);
  // The first subtraction is exact: both sides are multiples of the quotient's last bit.
  const double first = std::fma(-n, kHalfPiHigh, angle.high);
  const double r = first + std::fma(-n, kHalfPiLow, angle.low);
  const double s = sin_quarter(r), c = cos_quarter(r);
  switch (static_cast<uint64_t>(static_cast<int64_t>(n)) & 3) {
    case 0:
      return {static_cast<float>(s), static_cast<float>(c)};
    case 1:
      return {static_cast<float>(c), static_cast<float>(-s)};
    case 2:
      return {static_cast<float>(-s), static_cast<float>(-c)};
    default:
      return {static_cast<float>(-c), static_cast<float>(s)};
  }
}

}  // namespace maglio

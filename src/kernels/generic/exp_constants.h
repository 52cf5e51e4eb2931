// The numbers of this library's own exp, shared by the vector form (exp.inl) and the scalar one
// (kernels/math.h), so that both give the same bits.
//
//   exp(x) = 2^n * e^r,   n = round(x / ln 2),   r = x - n ln 2,   |r| <= ln 2 / 2
//   e^r = 1 + (r + r^2 q(r)),   q of degree 4
//
// q: least maximal relative error of e^r on |r| <= 0.3467 (Lawson's iteration), coefficients
// rounded to f32: 3.7e-9, a sixteenth of an ulp. With the roundings of r and of the last two steps
// the largest error over every f32 is 1.009 ulp, at -27.38 (all were measured once; a test looks at
// every 4999th).
#pragma once

namespace maglio {
namespace exp_constants {

// Where the result is infinity or zero whatever the exact argument: exp(89) > 2^128 and
// exp(-105) < 2^-150, half of the least subnormal.
constexpr float kHighest = 89.0f;
constexpr float kLowest = -105.0f;
constexpr float kLog2E = 0x1.715476p+0f;
// ln 2 in two parts; the first has 9 trailing zeros, so n * kLn2High is exact for |n| <= 2^9.
constexpr float kLn2High = 0x1.62e4p-1f;
constexpr float kLn2Low = 0x1.7f7d1cp-20f;
constexpr float kQ0 = 0x1.fffffcp-2f;
constexpr float kQ1 = 0x1.555492p-3f;
constexpr float kQ2 = 0x1.5558f2p-5f;
constexpr float kQ3 = 0x1.123a2p-7f;
constexpr float kQ4 = 0x1.6a23dp-10f;

}  // namespace exp_constants
}  // namespace maglio

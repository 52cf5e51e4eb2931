// exp of 16 lanes, in a fixed order of fma: see exp_constants.h for the equation and its error.
#pragma once

#include "kernels/generic/exp_constants.h"

namespace maglio {
namespace {

// 2^n of each lane. Requires: -126 <= n <= 127.
inline F32x16 power_of_two(I32x16 n) {
  return bits_to_f32(shift_left<23>(add_i32(n, broadcast_i32(127))));
}

// exp(0) is 1, exp(-inf) is 0, NaN stays NaN.
inline F32x16 exponential(F32x16 x) {
  using namespace exp_constants;
  // min and max give their second operand where one is not a number.
  x = max(broadcast(kLowest), min(broadcast(kHighest), x));
  const I32x16 n = round_to_i32(mul(x, broadcast(kLog2E)));
  const F32x16 n_f = to_f32(n);
  F32x16 r = fnma(n_f, broadcast(kLn2High), x);
  r = fnma(n_f, broadcast(kLn2Low), r);
  F32x16 q = broadcast(kQ4);
  q = fma(q, r, broadcast(kQ3));
  q = fma(q, r, broadcast(kQ2));
  q = fma(q, r, broadcast(kQ1));
  q = fma(q, r, broadcast(kQ0));
  const F32x16 y = add(broadcast(1.0f), fma(mul(r, r), q, r));
  // 2^n in two factors, for n reaches from -151 to 128; only the last product can round.
  const I32x16 half = round_to_i32(mul(n_f, broadcast(0.5f)));
  return mul(mul(y, power_of_two(half)), power_of_two(sub_i32(n, half)));
}

}  // namespace
}  // namespace maglio

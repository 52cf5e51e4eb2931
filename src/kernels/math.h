// This library's own elementary functions, for the rooms that are not compiled per instruction set.
//
// The C library picks its exp, sin and pow by the CPU it finds, and their last bits differ. Here
// every function is a fixed sequence of IEEE operations (+, -, *, /, fma), so that the same
// input gives the same bits on every machine. Angles of RoPE need more than a double holds: at
// position 100,000 the rounding of the frequency alone would move an angle by 1e-11; so they are
// pairs of doubles until they have been reduced to a quarter turn.
#pragma once

#include <cstddef>

namespace maglio {

// e^x with the bits of the kernels' exp (RowKernels::exp_sum). Error < 1.01 ulp.
float exp_f32(float x);

// Natural logarithm, error < 0.51 ulp. log(0) = -inf; NaN below zero.
float log_f32(float x);

// The unevaluated sum high + low, |low| <= ulp(high) / 2: about 106 bits.
// Products as in Dekker 1971, with fma for the error term.
struct DoubleDouble {
  double high = 0;
  double low = 0;
};
DoubleDouble multiply(DoubleDouble a, DoubleDouble b);
DoubleDouble divide(DoubleDouble a, double b);

// x with x^n = 1 / base. Requires: base > 0 and finite, n >= 1.
DoubleDouble inverse_root(double base, size_t n);

struct SinCos {
  float sin = 0;
  float cos = 0;
};
// Sine and cosine of an angle in radians, error < 0.51 ulp of f32. Requires: |angle| <= 2^31.
SinCos sin_cos(DoubleDouble angle);

}  // namespace maglio

// The two 16-bit float formats of model files, and their conversions to and from f32.
//
// half (IEEE binary16: 1 sign, 5 exponent, 10 fraction bits) and bfloat16 (the upper half of an
// f32). Widening is exact. Narrowing rounds to nearest, ties to even; overflow becomes infinity.
// The functions are not inline on purpose: code that kernels compile per instruction set must not
// leak into the rest of the program (docs/kernels.md, "sealed units").
#pragma once

#include <cstdint>

namespace maglio {

struct Half {
  uint16_t bits;
};

struct BFloat16 {
  uint16_t bits;
};

float to_float(Half h);
float to_float(BFloat16 b);
Half to_half(float x);
BFloat16 to_bfloat16(float x);

}  // namespace maglio

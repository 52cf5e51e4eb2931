// Kernels that work on one row. Sums run in 16 lanes: lane j takes the values j, j + 16, j + 32,
// ... in ascending order, then the tree of reduce_add. In a last, partial vector the missing values
// count as +0, which changes no sum of squares or exponentials.
#pragma once

#include "kernels/generic/exp.inl"
#include "kernels/kernels.h"

namespace maglio {
namespace {

constexpr float kInfinity = __builtin_inff();

alignas(64) constexpr float kLaneNumbers[kLanes] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                    8, 9, 10, 11, 12, 13, 14, 15};

// All ones in the lanes below n, zero in the others. n may be negative or above 16.
inline I32x16 lanes_below(float n) {
  return less(load(kLaneNumbers), broadcast(n));
}

// Calls f(i, n) for the vectors of a row: n = 16 lanes from i on, and fewer in the last one.
template <class F>
inline void for_each_vector(size_t n, F f) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) f(i, kLanes);
  if (i < n) f(i, n - i);
}

// Whole vectors must not pay for the mask of the last one.
inline F32x16 load_up_to(const float* p, size_t n) {
  return n == kLanes ? load(p) : load_first(p, n);
}
inline void store_up_to(float* p, F32x16 x, size_t n) {
  n == kLanes ? store(p, x) : store_first(p, x, n);
}

inline void rms_norm(const float* x, const float* weight, float eps, size_t n, float* out) {
  F32x16 sum = zero_f32();
  for_each_vector(n, [&](size_t i, size_t lanes) {
    const F32x16 v = load_up_to(x + i, lanes);
    sum = fma(v, v, sum);
  });
  const float mean = reduce_add(sum) / static_cast<float>(n);
  const F32x16 scale = div(broadcast(1.0f), square_root(broadcast(mean + eps)));
  for_each_vector(n, [&](size_t i, size_t lanes) {
    const F32x16 v = mul(load_up_to(x + i, lanes), scale);
    store_up_to(out + i, mul(v, load_up_to(weight + i, lanes)), lanes);
  });
}

// (a, b) -> (a cos - b sin, b cos + a sin), each with one rounding of a product and one fma.
inline void rope_half(float* x, const float* cos, const float* sin, size_t half) {
  for_each_vector(half, [&](size_t i, size_t lanes) {
    const F32x16 a = load_up_to(x + i, lanes), b = load_up_to(x + half + i, lanes);
    const F32x16 c = load_up_to(cos + i, lanes), s = load_up_to(sin + i, lanes);
    store_up_to(x + i, fnma(b, s, mul(a, c)), lanes);
    store_up_to(x + half + i, fma(a, s, mul(b, c)), lanes);
  });
}

// The same operations on neighbours; one pair at a time, for the vocabulary has no shuffles.
inline void rope_interleaved(float* x, const float* cos, const float* sin, size_t half) {
  for (size_t i = 0; i < half; ++i) {
    const float a = x[2 * i], b = x[2 * i + 1];
    x[2 * i] = __builtin_fmaf(-b, sin[i], a * cos[i]);
    x[2 * i + 1] = __builtin_fmaf(a, sin[i], b * cos[i]);
  }
}

// (gate / (1 + exp(-gate))) * up
inline void swiglu(const float* gate, const float* up, size_t n, float* out) {
  for_each_vector(n, [&](size_t i, size_t lanes) {
    const F32x16 g = load_up_to(gate + i, lanes);
    const F32x16 e = exponential(sub(zero_f32(), g));
    const F32x16 silu = div(g, add(broadcast(1.0f), e));
    store_up_to(out + i, mul(silu, load_up_to(up + i, lanes)), lanes);
  });
}

inline void scale_row(const float* x, float factor, size_t n, float* out) {
  for_each_vector(n, [&](size_t i, size_t lanes) {
    store_up_to(out + i, mul(load_up_to(x + i, lanes), broadcast(factor)), lanes);
  });
}

inline void add_row(float* x, const float* y, size_t n) {
  for_each_vector(n, [&](size_t i, size_t lanes) {
    store_up_to(x + i, add(load_up_to(x + i, lanes), load_up_to(y + i, lanes)), lanes);
  });
}

inline float exp_sum(const float* x, float shift, size_t n, float* out) {
  F32x16 sum = zero_f32();
  for_each_vector(n, [&](size_t i, size_t lanes) {
    const F32x16 e = exponential(sub(load_up_to(x + i, lanes), broadcast(shift)));
    const I32x16 present = lanes_below(static_cast<float>(lanes));
    sum = add(sum, select(present, e, zero_f32()));
    store_up_to(out + i, e, lanes);
  });
  return reduce_add(sum);
}

inline float max_of(const float* x, size_t n) {
  F32x16 highest = broadcast(-kInfinity);
  for_each_vector(n, [&](size_t i, size_t lanes) {
    const I32x16 present = lanes_below(static_cast<float>(lanes));
    highest = max(select(present, load_up_to(x + i, lanes), broadcast(-kInfinity)), highest);
  });
  return reduce_max(highest);
}

inline bool all_finite(const float* x, size_t n) {
  // |x| < inf is false for infinities and NaN.
  F32x16 finite = broadcast(1.0f);
  for_each_vector(n, [&](size_t i, size_t lanes) {
    const F32x16 v = load_up_to(x + i, lanes);
    finite = select(less(abs(v), broadcast(kInfinity)), finite, zero_f32());
  });
  return reduce_add(finite) == static_cast<float>(kLanes);
}

constexpr RowKernels row_kernels() {
  return {
      .rms_norm = rms_norm,
      .rope_half = rope_half,
      .rope_interleaved = rope_interleaved,
      .swiglu = swiglu,
      .scale = scale_row,
      .add = add_row,
      .exp_sum = exp_sum,
      .max = max_of,
      .all_finite = all_finite,
  };
}

}  // namespace
}  // namespace maglio

// The vector vocabulary on AArch64 with dot products: 16 lanes are four q registers.
//
// The meaning of each operation is in simd/scalar.h. Only the NEON units include this file. What
// keeps the bits: vfmaq rounds once, vdivq and vsqrtq are IEEE's (the estimates vrecpe and vrsqrte
// are not used), vcvtnq rounds to nearest even, and FPCR is left as Linux starts a thread, with
// subnormals kept. vmaxq gives a NaN where one operand is one, so maxima are comparisons.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

namespace maglio {
namespace {

constexpr size_t kLanes = 16;
constexpr bool kFreeUnpacking = false;
constexpr size_t kAhead = 2048;
constexpr size_t kTileRows = 6;  // 24 of 32 registers for sums, 4 for weights, 1 for activations

struct F32x16 {
  float32x4_t q[4];
};
struct I32x16 {
  int32x4_t q[4];
};

// The four registers, quarter(i) each. Not loops: i must be a constant for the registers to be
// registers, and g++ 12 keeps short loops as they are at -O2.
template <class F>
[[gnu::always_inline]] inline F32x16 f32_quarters(F quarter) {
  return {{quarter(0), quarter(1), quarter(2), quarter(3)}};
}
template <class F>
[[gnu::always_inline]] inline I32x16 i32_quarters(F quarter) {
  return {{quarter(0), quarter(1), quarter(2), quarter(3)}};
}

template <class F>
[[gnu::always_inline]] inline void each_quarter(F act) {
  act(0), act(1), act(2), act(3);
}

// --- Floats -------------------------------------------------------------------------------------
inline F32x16 load(const float* p) {
  return f32_quarters([=](int i) { return vld1q_f32(p + 4 * i); });
}
inline void store(float* p, F32x16 x) {
  each_quarter([&](int i) { vst1q_f32(p + 4 * i, x.q[i]); });
}
inline F32x16 load_first(const float* p, size_t n) {
  float lanes[kLanes] = {};
  __builtin_memcpy(lanes, p, n * sizeof(float));
  return load(lanes);
}
inline void store_first(float* p, F32x16 x, size_t n) {
  float lanes[kLanes];
  store(lanes, x);
  __builtin_memcpy(p, lanes, n * sizeof(float));
}
inline F32x16 broadcast(float x) {
  return f32_quarters([=](int) { return vdupq_n_f32(x); });
}
inline F32x16 zero_f32() {
  return broadcast(0.0f);
}
inline F32x16 load_half(const uint16_t* p) {
  return f32_quarters(
      [=](int i) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p + 4 * i))); });
}
inline void store_half(uint16_t* p, F32x16 x) {
  each_quarter([&](int i) { vst1_u16(p + 4 * i, vreinterpret_u16_f16(vcvt_f16_f32(x.q[i]))); });
}

inline F32x16 add(F32x16 a, F32x16 b) {
  return f32_quarters([&](int i) { return vaddq_f32(a.q[i], b.q[i]); });
}
inline F32x16 sub(F32x16 a, F32x16 b) {
  return f32_quarters([&](int i) { return vsubq_f32(a.q[i], b.q[i]); });
}
inline F32x16 mul(F32x16 a, F32x16 b) {
  return f32_quarters([&](int i) { return vmulq_f32(a.q[i], b.q[i]); });
}
inline F32x16 div(F32x16 a, F32x16 b) {
  return f32_quarters([&](int i) { return vdivq_f32(a.q[i], b.q[i]); });
}
inline F32x16 square_root(F32x16 a) {
  return f32_quarters([&](int i) { return vsqrtq_f32(a.q[i]); });
}
inline F32x16 fma(F32x16 a, F32x16 b, F32x16 c) {
  return f32_quarters([&](int i) { return vfmaq_f32(c.q[i], a.q[i], b.q[i]); });
}
inline F32x16 fnma(F32x16 a, F32x16 b, F32x16 c) {
  return f32_quarters([&](int i) { return vfmsq_f32(c.q[i], a.q[i], b.q[i]); });
}
// b unless a is greater.
inline float32x4_t max_of_four(float32x4_t a, float32x4_t b) {
  return vbslq_f32(vcgtq_f32(a, b), a, b);
}
inline F32x16 max(F32x16 a, F32x16 b) {
  return f32_quarters([&](int i) { return max_of_four(a.q[i], b.q[i]); });
}
inline F32x16 min(F32x16 a, F32x16 b) {
  return f32_quarters([&](int i) { return vbslq_f32(vcltq_f32(a.q[i], b.q[i]), a.q[i], b.q[i]); });
}
inline F32x16 abs(F32x16 a) {
  return f32_quarters([&](int i) { return vabsq_f32(a.q[i]); });
}
inline float reduce_add(F32x16 x) {
  const float32x4_t four = vaddq_f32(vaddq_f32(x.q[0], x.q[2]), vaddq_f32(x.q[1], x.q[3]));
  const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}
inline float reduce_max(F32x16 x) {
  const float32x4_t four = max_of_four(max_of_four(x.q[0], x.q[2]), max_of_four(x.q[1], x.q[3]));
  const float32x4_t two = max_of_four(four, vextq_f32(four, four, 2));
  return vgetq_lane_f32(max_of_four(two, vextq_f32(two, two, 1)), 0);
}

inline I32x16 less(F32x16 a, F32x16 b) {
  return i32_quarters([&](int i) { return vreinterpretq_s32_u32(vcltq_f32(a.q[i], b.q[i])); });
}
inline F32x16 select(I32x16 mask, F32x16 x, F32x16 y) {
  return f32_quarters(
      [&](int i) { return vbslq_f32(vreinterpretq_u32_s32(mask.q[i]), x.q[i], y.q[i]); });
}

// --- Conversions --------------------------------------------------------------------------------
inline F32x16 to_f32(I32x16 x) {
  return f32_quarters([&](int i) { return vcvtq_f32_s32(x.q[i]); });
}
inline I32x16 round_to_i32(F32x16 x) {
  return i32_quarters([&](int i) { return vcvtnq_s32_f32(x.q[i]); });
}
inline F32x16 bits_to_f32(I32x16 x) {
  return f32_quarters([&](int i) { return vreinterpretq_f32_s32(x.q[i]); });
}
inline I32x16 f32_to_bits(F32x16 x) {
  return i32_quarters([&](int i) { return vreinterpretq_s32_f32(x.q[i]); });
}

// --- Dwords -------------------------------------------------------------------------------------
// From any address: loads of bytes, which need no alignment.
inline I32x16 load_i32(const void* p) {
  const auto* bytes = static_cast<const uint8_t*>(p);
  return i32_quarters([=](int i) { return vreinterpretq_s32_u8(vld1q_u8(bytes + 16 * i)); });
}
inline void store_i32(void* p, I32x16 x) {
  auto* bytes = static_cast<uint8_t*>(p);
  each_quarter([&](int i) { vst1q_u8(bytes + 16 * i, vreinterpretq_u8_s32(x.q[i])); });
}
inline I32x16 load_s8(const int8_t* p) {
  const int8x16_t bytes = vld1q_s8(p);
  const int16x8_t low = vmovl_s8(vget_low_s8(bytes));
  const int16x8_t high = vmovl_high_s8(bytes);
  return {{vmovl_s16(vget_low_s16(low)), vmovl_high_s16(low), vmovl_s16(vget_low_s16(high)),
           vmovl_high_s16(high)}};
}
inline I32x16 broadcast_i32(int32_t x) {
  return i32_quarters([=](int) { return vdupq_n_s32(x); });
}
inline int32_t dword_at(const void* p) {
  int32_t x = 0;
  __builtin_memcpy(&x, p, sizeof x);
  return x;
}
inline I32x16 broadcast_load_i32(const void* p) {
  return broadcast_i32(dword_at(p));
}
inline I32x16 zero_i32() {
  return broadcast_i32(0);
}
inline I32x16 add_i32(I32x16 a, I32x16 b) {
  return i32_quarters([&](int i) { return vaddq_s32(a.q[i], b.q[i]); });
}
inline I32x16 sub_i32(I32x16 a, I32x16 b) {
  return i32_quarters([&](int i) { return vsubq_s32(a.q[i], b.q[i]); });
}
inline I32x16 bit_and(I32x16 a, I32x16 b) {
  return i32_quarters([&](int i) { return vandq_s32(a.q[i], b.q[i]); });
}
inline I32x16 bit_or(I32x16 a, I32x16 b) {
  return i32_quarters([&](int i) { return vorrq_s32(a.q[i], b.q[i]); });
}
inline I32x16 and_or(I32x16 a, I32x16 mask, I32x16 b) {
  return bit_or(bit_and(a, mask), b);
}
template <int kBits>
inline I32x16 shift_left(I32x16 a) {
  return i32_quarters([&](int i) { return vshlq_n_s32(a.q[i], kBits); });
}
// Shifts by a register: zeros come in, so lanes are unsigned; a negative count goes right.
inline int32x4_t shift_four(int32x4_t a, int count) {
  return vreinterpretq_s32_u32(vshlq_u32(vreinterpretq_u32_s32(a), vdupq_n_s32(count)));
}
template <int kBits>
inline I32x16 shift_right(I32x16 a) {
  return i32_quarters([&](int i) {
    return vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(a.q[i]), kBits));
  });
}
inline I32x16 shift_left_by(I32x16 a, size_t n) {
  return i32_quarters([&](int i) { return shift_four(a.q[i], static_cast<int>(n)); });
}
inline I32x16 shift_right_by(I32x16 a, size_t n) {
  return i32_quarters([&](int i) { return shift_four(a.q[i], -static_cast<int>(n)); });
}

inline int32_t reduce_add_i32(I32x16 x) {
  return vaddvq_s32(vaddq_s32(vaddq_s32(x.q[0], x.q[2]), vaddq_s32(x.q[1], x.q[3])));
}
// Eight int16 from the low halves of lanes 8 * half ...
inline int16x8_t narrow_s16(I32x16 x, int half) {
  return vcombine_s16(vmovn_s32(x.q[2 * half]), vmovn_s32(x.q[2 * half + 1]));
}
inline void store_s8(int8_t* p, I32x16 x) {
  vst1_s8(p, vmovn_s16(narrow_s16(x, 0)));
  vst1_s8(p + 8, vmovn_s16(narrow_s16(x, 1)));
}
inline void store_s16_pairs(int16_t* p, I32x16 x) {
  each_quarter([&](int i) {
    const int16x4_t four = vmovn_s32(x.q[i]);
    vst1_s16(p + 4 * i, vzip1_s16(four, vext_s16(four, four, 2)));
  });
}

// --- Integer products ---------------------------------------------------------------------------
inline int16x8_t as_s16(int32x4_t x) {
  return vreinterpretq_s16_s32(x);
}
inline int32x4_t from_s16(int16x8_t x) {
  return vreinterpretq_s32_s16(x);
}
inline I32x16 even_s8(I32x16 x) {
  return i32_quarters(
      [&](int i) { return from_s16(vshrq_n_s16(vshlq_n_s16(as_s16(x.q[i]), 8), 8)); });
}
inline I32x16 odd_s8(I32x16 x) {
  return i32_quarters([&](int i) { return from_s16(vshrq_n_s16(as_s16(x.q[i]), 8)); });
}
// Pairs: the upper twelve bits of each half.
inline I32x16 upper_s12(I32x16 x) {
  return i32_quarters([&](int i) { return from_s16(vshrq_n_s16(as_s16(x.q[i]), 4)); });
}
inline I32x16 even_u8(I32x16 x) {
  return bit_and(x, broadcast_i32(0x00ff00ff));
}
inline I32x16 odd_u8(I32x16 x) {
  return i32_quarters(
      [&](int i) { return vreinterpretq_s32_u16(vshrq_n_u16(vreinterpretq_u16_s32(x.q[i]), 8)); });
}
inline I32x16 sub_s16(I32x16 x, int16_t c) {
  return i32_quarters([&](int i) { return from_s16(vsubq_s16(as_s16(x.q[i]), vdupq_n_s16(c))); });
}
inline I32x16 dot_s16(I32x16 acc, I32x16 a, I32x16 b) {
  return i32_quarters([&](int i) {
    const int16x8_t x = as_s16(a.q[i]);
    const int16x8_t y = as_s16(b.q[i]);
    const int32x4_t low = vmull_s16(vget_low_s16(x), vget_low_s16(y));
    return vaddq_s32(acc.q[i], vpaddq_s32(low, vmull_high_s16(x, y)));
  });
}

// The dword at p in the low half of a register, for products with one of its elements.
inline int32x2_t element_at(const void* p) {
  return int32x2_t{dword_at(p), 0};
}

// Sorted into low and high halves once (w is the same for all rows of a tile, so the compiler does
// it once), the pairs need one multiply-accumulate for each: twice the rate of dot_s16.
inline void add_dot_s16(I32x16& sum, I32x16 w, const void* q) {
  const int16x4_t pair = vreinterpret_s16_s32(element_at(q));
  const auto add_eight = [pair](int32x4_t& s0, int32x4_t& s1, int32x4_t w0, int32x4_t w1) {
    const int16x8_t low = vuzp1q_s16(as_s16(w0), as_s16(w1));
    const int16x8_t high = vuzp2q_s16(as_s16(w0), as_s16(w1));
    s0 = vmlal_lane_s16(s0, vget_low_s16(low), pair, 0);
    s1 = vmlal_high_lane_s16(s1, low, pair, 0);
    s0 = vmlal_lane_s16(s0, vget_low_s16(high), pair, 1);
    s1 = vmlal_high_lane_s16(s1, high, pair, 1);
  };
  add_eight(sum.q[0], sum.q[1], w.q[0], w.q[1]);
  add_eight(sum.q[2], sum.q[3], w.q[2], w.q[3]);
}

// The dot product instruction accumulates in 32 bits by itself. Unsigned bytes of weights are at
// most 63, so they are signed bytes as well and need no instruction for mixed signs.
inline void add_dot_u8s8(I32x16& sum, I32x16 u, const void* q) {
  const int8x8_t four = vreinterpret_s8_s32(element_at(q));
  each_quarter(
      [&](int i) { sum.q[i] = vdotq_lane_s32(sum.q[i], vreinterpretq_s8_s32(u.q[i]), four, 0); });
}
inline I32x16 mul_scales(I32x16 scale, const int32_t* m) {
  return i32_quarters(
      [&](int i) { return vmulq_n_s32(scale.q[i], static_cast<int16_t>(*m & 0xffff)); });
}
inline I32x16 fold(I32x16 acc, I32x16 sum, I32x16 scale) {
  return i32_quarters([&](int i) { return vmlaq_s32(acc.q[i], sum.q[i], scale.q[i]); });
}
inline I32x16 fold_halves(I32x16 acc, I32x16 first, I32x16 second, const int32_t* m) {
  return i32_quarters([&](int i) {
    const int32x4_t sum = vmlaq_n_s32(acc.q[i], first.q[i], static_cast<int16_t>(m[0] & 0xffff));
    return vmlaq_n_s32(sum, second.q[i], static_cast<int16_t>(m[1] & 0xffff));
  });
}
inline I32x16 load_pairs_s8(const void* a, const void* b) {
  const int8x16_t x = vld1q_s8(static_cast<const int8_t*>(a));
  const int8x16_t y = vld1q_s8(static_cast<const int8_t*>(b));
  const int8x16_t low = vzip1q_s8(x, y);
  const int8x16_t high = vzip2q_s8(x, y);
  return {{from_s16(vmovl_s8(vget_low_s8(low))), from_s16(vmovl_high_s8(low)),
           from_s16(vmovl_s8(vget_low_s8(high))), from_s16(vmovl_high_s8(high))}};
}

// One cache line on its way; reading past the end of an array is harmless here.
// Not intrinsics: g++ 12 drops calls and loops in which it sees nothing but those.
inline void prefetch(const void* p) {
  __asm__ volatile("prfm pldl1keep, [%0]" : : "r"(p));
}
inline void prefetch_to_l2(const void* p) {
  __asm__ volatile("prfm pldl2keep, [%0]" : : "r"(p));
}
inline void prefetch_for_writing(void* p) {
  __asm__ volatile("prfm pstl1keep, [%0]" : : "r"(p));
}

}  // namespace
}  // namespace maglio

#include "kernels/simd/wide_sums.h"

// The vector vocabulary in plain C++: the meaning of every operation, which the other instruction
// sets must reproduce bit for bit.
//
// A vector has 16 lanes on every machine: 16 floats (F32x16), or 16 dwords (I32x16) that an
// operation reads as int32, as pairs of int16 or as groups of four bytes (little-endian). Only the
// unit isa_scalar.cpp includes this file; everything is in an anonymous namespace so that nothing
// leaves the unit (docs/kernels.md, "sealed units"), and library functions are the compiler's
// built-ins, because <cmath> and <cstring> define inline functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/half.h"

namespace maglio {
namespace {

constexpr size_t kLanes = 16;
constexpr bool kFreeUnpacking = false;  // whether unpacking weights costs next to nothing
constexpr size_t kAhead = 0;            // bytes of a stream that are fetched ahead of reading
constexpr size_t kTileRows = 2;         // rows of activations that one pass over the weights serves

struct F32x16 {
  float v[kLanes];
};
struct I32x16 {
  int32_t v[kLanes];
};

template <class F>
inline F32x16 f32_lanes(F lane) {
  F32x16 r;
  for (size_t i = 0; i < kLanes; ++i) r.v[i] = lane(i);
  return r;
}

template <class F>
inline I32x16 i32_lanes(F lane) {
  I32x16 r;
  for (size_t i = 0; i < kLanes; ++i) r.v[i] = static_cast<int32_t>(lane(i));
  return r;
}

// The integer operations wrap around: they are defined on the unsigned values.
constexpr uint32_t as_u32(int32_t x) {
  return static_cast<uint32_t>(x);
}
constexpr int32_t low_s16(int32_t x) {
  return static_cast<int16_t>(as_u32(x) & 0xffffu);
}
constexpr int32_t high_s16(int32_t x) {
  return static_cast<int16_t>(as_u32(x) >> 16);
}
constexpr uint32_t byte_of(int32_t x, size_t i) {
  return (as_u32(x) >> (8 * i)) & 0xffu;
}
constexpr int32_t s8_of(int32_t x, size_t i) {
  return static_cast<int8_t>(byte_of(x, i));
}
constexpr uint32_t pair_of(int32_t low, int32_t high) {
  return (as_u32(low) & 0xffffu) | (as_u32(high) << 16);
}

// --- Floats -------------------------------------------------------------------------------------
inline F32x16 load(const float* p) {
  return f32_lanes([=](size_t i) { return p[i]; });
}
// The first n <= 16 lanes; the others are zero.
inline F32x16 load_first(const float* p, size_t n) {
  return f32_lanes([=](size_t i) { return i < n ? p[i] : 0.0f; });
}
inline void store(float* p, F32x16 x) {
  for (size_t i = 0; i < kLanes; ++i) p[i] = x.v[i];
}
inline void store_first(float* p, F32x16 x, size_t n) {
  for (size_t i = 0; i < n; ++i) p[i] = x.v[i];
}
inline F32x16 broadcast(float x) {
  return f32_lanes([=](size_t) { return x; });
}
inline F32x16 zero_f32() {
  return broadcast(0.0f);
}
inline F32x16 load_half(const uint16_t* p) {
  return f32_lanes([=](size_t i) { return to_float(Half{p[i]}); });
}
inline void store_half(uint16_t* p, F32x16 x) {
  for (size_t i = 0; i < kLanes; ++i) p[i] = to_half(x.v[i]).bits;
}

inline F32x16 add(F32x16 a, F32x16 b) {
  return f32_lanes([&](size_t i) { return a.v[i] + b.v[i]; });
}
inline F32x16 sub(F32x16 a, F32x16 b) {
  return f32_lanes([&](size_t i) { return a.v[i] - b.v[i]; });
}
inline F32x16 mul(F32x16 a, F32x16 b) {
  return f32_lanes([&](size_t i) { return a.v[i] * b.v[i]; });
}
inline F32x16 div(F32x16 a, F32x16 b) {
  return f32_lanes([&](size_t i) { return a.v[i] / b.v[i]; });
}
inline F32x16 square_root(F32x16 a) {
  return f32_lanes([&](size_t i) { return __builtin_sqrtf(a.v[i]); });
}
// a * b + c, rounded once.
inline F32x16 fma(F32x16 a, F32x16 b, F32x16 c) {
  return f32_lanes([&](size_t i) { return __builtin_fmaf(a.v[i], b.v[i], c.v[i]); });
}
// c - a * b, rounded once.
inline F32x16 fnma(F32x16 a, F32x16 b, F32x16 c) {
  return f32_lanes([&](size_t i) { return __builtin_fmaf(-a.v[i], b.v[i], c.v[i]); });
}
// b where the two are equal (zeros of either sign) or where one is not a number.
inline F32x16 max(F32x16 a, F32x16 b) {
  return f32_lanes([&](size_t i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
}
inline F32x16 min(F32x16 a, F32x16 b) {
  return f32_lanes([&](size_t i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; });
}
inline F32x16 abs(F32x16 a) {
  return f32_lanes([&](size_t i) { return __builtin_fabsf(a.v[i]); });
}
// The tree 8, 4, 2, 1: lane i takes lane i + 8, then i + 4, i + 2, i + 1.
inline float reduce_add(F32x16 x) {
  for (size_t step = 8; step > 0; step /= 2) {
    for (size_t i = 0; i < step; ++i) x.v[i] = x.v[i] + x.v[i + step];
  }
  return x.v[0];
}
inline float reduce_max(F32x16 x) {
  for (size_t step = 8; step > 0; step /= 2) {
    for (size_t i = 0; i < step; ++i) x.v[i] = x.v[i] > x.v[i + step] ? x.v[i] : x.v[i + step];
  }
  return x.v[0];
}

// All bits one where a < b, else zero.
inline I32x16 less(F32x16 a, F32x16 b) {
  return i32_lanes([&](size_t i) { return a.v[i] < b.v[i] ? -1 : 0; });
}
// x where the mask is all ones, y where it is zero.
inline F32x16 select(I32x16 mask, F32x16 x, F32x16 y) {
  return f32_lanes([&](size_t i) { return mask.v[i] != 0 ? x.v[i] : y.v[i]; });
}

// --- Conversions --------------------------------------------------------------------------------
inline F32x16 to_f32(I32x16 x) {
  return f32_lanes([&](size_t i) { return static_cast<float>(x.v[i]); });
}
// To nearest, ties to even. Requires: |x| <= 2^22.
inline I32x16 round_to_i32(F32x16 x) {
  constexpr float kShift = 12582912.0f;  // 1.5 * 2^23: the sum's last bit is the unit
  return i32_lanes([&](size_t i) {
    return __builtin_bit_cast(int32_t, x.v[i] + kShift) - __builtin_bit_cast(int32_t, kShift);
  });
}
inline F32x16 bits_to_f32(I32x16 x) {
  return __builtin_bit_cast(F32x16, x);
}
inline I32x16 f32_to_bits(F32x16 x) {
  return __builtin_bit_cast(I32x16, x);
}

// --- Dwords -------------------------------------------------------------------------------------
// Sixteen dwords from any address.
inline I32x16 load_i32(const void* p) {
  I32x16 r;
  __builtin_memcpy(&r, p, sizeof r);
  return r;
}
inline void store_i32(void* p, I32x16 x) {
  __builtin_memcpy(p, &x, sizeof x);
}
inline I32x16 broadcast_i32(int32_t x) {
  return i32_lanes([=](size_t) { return x; });
}
// Sixteen int8, each widened to a dword.
inline I32x16 load_s8(const int8_t* p) {
  return i32_lanes([=](size_t i) { return p[i]; });
}
// The dword at p, from any address, in every lane.
inline I32x16 broadcast_load_i32(const void* p) {
  int32_t x = 0;
  __builtin_memcpy(&x, p, sizeof x);
  return broadcast_i32(x);
}
inline I32x16 zero_i32() {
  return broadcast_i32(0);
}
inline I32x16 add_i32(I32x16 a, I32x16 b) {
  return i32_lanes([&](size_t i) { return as_u32(a.v[i]) + as_u32(b.v[i]); });
}
inline I32x16 sub_i32(I32x16 a, I32x16 b) {
  return i32_lanes([&](size_t i) { return as_u32(a.v[i]) - as_u32(b.v[i]); });
}
inline I32x16 bit_and(I32x16 a, I32x16 b) {
  return i32_lanes([&](size_t i) { return a.v[i] & b.v[i]; });
}
// (a & mask) | b
inline I32x16 and_or(I32x16 a, I32x16 mask, I32x16 b) {
  return i32_lanes([&](size_t i) { return (a.v[i] & mask.v[i]) | b.v[i]; });
}
inline I32x16 bit_or(I32x16 a, I32x16 b) {
  return i32_lanes([&](size_t i) { return a.v[i] | b.v[i]; });
}
template <int kBits>
inline I32x16 shift_left(I32x16 a) {
  return i32_lanes([&](size_t i) { return as_u32(a.v[i]) << kBits; });
}
// Zeros come in.
template <int kBits>
inline I32x16 shift_right(I32x16 a) {
  return i32_lanes([&](size_t i) { return as_u32(a.v[i]) >> kBits; });
}

// The sum of the lanes, modulo 2^32.
inline int32_t reduce_add_i32(I32x16 x) {
  uint32_t sum = 0;
  for (size_t i = 0; i < kLanes; ++i) sum += as_u32(x.v[i]);
  return static_cast<int32_t>(sum);
}
// Sixteen lanes in [-127, 127] as bytes.
inline void store_s8(int8_t* p, I32x16 x) {
  for (size_t i = 0; i < kLanes; ++i) p[i] = static_cast<int8_t>(x.v[i]);
}
// Sixteen lanes in [-32767, 32767] as int16; inside each four in the order 0, 2, 1, 3.
inline void store_s16_pairs(int16_t* p, I32x16 x) {
  constexpr size_t kOrder[4] = {0, 2, 1, 3};
  for (size_t i = 0; i < kLanes; ++i) {
    p[i] = static_cast<int16_t>(x.v[i / 4 * 4 + kOrder[i % 4]]);
  }
}

// The same by n bits that need not be a constant.
inline I32x16 shift_left_by(I32x16 a, size_t n) {
  return i32_lanes([&](size_t i) { return as_u32(a.v[i]) << n; });
}
inline I32x16 shift_right_by(I32x16 a, size_t n) {
  return i32_lanes([&](size_t i) { return as_u32(a.v[i]) >> n; });
}

// --- Integer products ---------------------------------------------------------------------------
// Of the four bytes of each dword: bytes 0 and 2, or bytes 1 and 3, as a pair of int16.
inline I32x16 even_s8(I32x16 x) {
  return i32_lanes([&](size_t i) { return pair_of(s8_of(x.v[i], 0), s8_of(x.v[i], 2)); });
}
inline I32x16 odd_s8(I32x16 x) {
  return i32_lanes([&](size_t i) { return pair_of(s8_of(x.v[i], 1), s8_of(x.v[i], 3)); });
}
// Pairs: the upper twelve bits of each half.
inline I32x16 upper_s12(I32x16 x) {
  return i32_lanes([&](size_t i) { return pair_of(low_s16(x.v[i]) >> 4, high_s16(x.v[i]) >> 4); });
}
inline I32x16 even_u8(I32x16 x) {
  return i32_lanes([&](size_t i) { return as_u32(x.v[i]) & 0x00ff00ffu; });
}
inline I32x16 odd_u8(I32x16 x) {
  return i32_lanes([&](size_t i) { return (as_u32(x.v[i]) >> 8) & 0x00ff00ffu; });
}
// Subtracts c from both int16 of each pair.
inline I32x16 sub_s16(I32x16 x, int16_t c) {
  return i32_lanes([&](size_t i) { return pair_of(low_s16(x.v[i]) - c, high_s16(x.v[i]) - c); });
}
// acc + the scalar product of two pairs of int16, modulo 2^32.
inline I32x16 dot_s16(I32x16 acc, I32x16 a, I32x16 b) {
  return i32_lanes([&](size_t i) {
    return as_u32(acc.v[i]) + as_u32(low_s16(a.v[i]) * low_s16(b.v[i])) +
           as_u32(high_s16(a.v[i]) * high_s16(b.v[i]));
  });
}

// sum = dot_s16(sum, w, the dword at q in every lane)
inline void add_dot_s16(I32x16& sum, I32x16 w, const void* q) {
  sum = dot_s16(sum, w, broadcast_load_i32(q));
}

// sum + the scalar product of the unsigned bytes u and the four signed bytes at q.
inline void add_dot_u8s8(I32x16& sum, I32x16 u, const void* q) {
  const I32x16 all = broadcast_load_i32(q);
  sum = i32_lanes([&](size_t i) {
    int32_t r = sum.v[i];
    for (size_t j = 0; j < 4; ++j) {
      r += static_cast<int32_t>(byte_of(u.v[i], j)) * s8_of(all.v[i], j);
    }
    return r;
  });
}
// scale times the integer that m holds twice, as a pair of int16.
inline I32x16 mul_scales(I32x16 scale, const int32_t* m) {
  return i32_lanes([&](size_t i) { return as_u32(scale.v[i]) * as_u32(low_s16(*m)); });
}
// acc + sum * scale, modulo 2^32.
inline I32x16 fold(I32x16 acc, I32x16 sum, I32x16 scale) {
  return i32_lanes(
      [&](size_t i) { return as_u32(acc.v[i]) + as_u32(sum.v[i]) * as_u32(scale.v[i]); });
}
// acc + first * m[0] + second * m[1], for sums that fit an int16; each m holds its integer twice.
inline I32x16 fold_halves(I32x16 acc, I32x16 first, I32x16 second, const int32_t* m) {
  return fold(fold(acc, first, broadcast_i32(low_s16(m[0]))), second, broadcast_i32(low_s16(m[1])));
}
// Two rows of sixteen int8, one an output, as pairs (a, b) of int16.
inline I32x16 load_pairs_s8(const void* a, const void* b) {
  const auto* x = static_cast<const int8_t*>(a);
  const auto* y = static_cast<const int8_t*>(b);
  return i32_lanes([=](size_t i) { return pair_of(x[i], y[i]); });
}

inline void prefetch(const void*) {}
inline void prefetch_to_l2(const void*) {}
inline void prefetch_for_writing(void*) {}

}  // namespace
}  // namespace maglio

#include "kernels/simd/wide_sums.h"

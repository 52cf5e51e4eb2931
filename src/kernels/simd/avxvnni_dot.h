// Products of small integers on AVX-VNNI: four bytes or two int16 a lane, added to an int32 by one
// instruction.
//
// Machines with AVX-512 VNNI have the same operations in another encoding, which the compiler
// chooses by its flags: so the tests run this file there (tests/kernels/tests.cmake).
#pragma once

#include "kernels/simd/avx2.h"

namespace maglio {
namespace {

constexpr bool kFreeUnpacking = false;
// A Zen 3 reads 20 % faster with fetching and was best around 2 KB (5 % worse at 1 and 4); a Zen 4
// does as well or better without.
constexpr size_t kAhead = 2048;
constexpr size_t kTileRows = 6;  // 12 of 16 registers for sums

inline I32x16 dot_s16(I32x16 acc, I32x16 a, I32x16 b) {
  return {_mm256_dpwssd_epi32(acc.lo, a.lo, b.lo), _mm256_dpwssd_epi32(acc.hi, a.hi, b.hi)};
}
inline void add_dot_s16(I32x16& sum, I32x16 w, const void* q) {
  sum = dot_s16(sum, w, broadcast_load_i32(q));
}

inline void add_dot_u8s8(I32x16& sum, I32x16 u, const void* q) {
  const I32x16 all = broadcast_load_i32(q);
  sum = {_mm256_dpbusd_epi32(sum.lo, u.lo, all.lo), _mm256_dpbusd_epi32(sum.hi, u.hi, all.hi)};
}
inline I32x16 mul_i32(I32x16 a, I32x16 b) {
  return {_mm256_mullo_epi32(a.lo, b.lo), _mm256_mullo_epi32(a.hi, b.hi)};
}
// m holds its integer twice, as a pair of int16.
inline I32x16 broadcast_factor(const int32_t* m) {
  return broadcast_i32(*m >> 16);
}
inline I32x16 mul_scales(I32x16 scale, const int32_t* m) {
  return mul_i32(scale, broadcast_factor(m));
}
inline I32x16 fold(I32x16 acc, I32x16 sum, I32x16 scale) {
  return add_i32(acc, mul_i32(sum, scale));
}
// Both sums fit an int16: as pairs they meet the pair of their factors in one instruction. The
// dword two bytes further holds one half of each of the two equal pairs m[0] and m[1].
inline I32x16 fold_halves(I32x16 acc, I32x16 first, I32x16 second, const int32_t* m) {
  const I32x16 sums = {_mm256_blend_epi16(first.lo, _mm256_slli_epi32(second.lo, 16), 0xaa),
                       _mm256_blend_epi16(first.hi, _mm256_slli_epi32(second.hi, 16), 0xaa)};
  return dot_s16(acc, sums, broadcast_load_i32(reinterpret_cast<const std::byte*>(m) + 2));
}

}  // namespace
}  // namespace maglio

#include "kernels/simd/wide_sums.h"

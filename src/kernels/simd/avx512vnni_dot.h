// Products of small integers on AVX-512 VNNI: four bytes or two int16 a lane, added to an int32 by
// one instruction, whose factor comes from memory to all lanes without an instruction of its own.
//
// Assembly, because g++ 12 emits a separate broadcast.
#pragma once

#include "kernels/simd/avx512.h"

namespace maglio {
namespace {

constexpr bool kFreeUnpacking = true;  // it runs beside the products, on idle ports
constexpr size_t kTileRows = 12;       // of 32 registers: two sums a row, weights, scales

inline I32x16 dot_s16(I32x16 acc, I32x16 a, I32x16 b) {
  return {_mm512_dpwssd_epi32(acc.v, a.v, b.v)};
}
inline void add_dot_s16(I32x16& sum, I32x16 w, const void* q) {
#if defined(MAGLIO_SIMDE)
  sum = dot_s16(sum, w, broadcast_load_i32(q));
#else
  __asm__("vpdpwssd %[q]%{1to16%}, %[w], %[sum]"
          : [sum] "+v"(sum.v)
          : [w] "v"(w.v), [q] "m"(dword_at(q)));
#endif
}

inline void add_dot_u8s8(I32x16& sum, I32x16 u8, const void* q) {
#if defined(MAGLIO_SIMDE)
  sum.v = _mm512_dpbusd_epi32(sum.v, u8.v, broadcast_load_i32(q).v);
#else
  __asm__("vpdpbusd %[q]%{1to16%}, %[u], %[sum]"
          : [sum] "+v"(sum.v)
          : [u] "v"(u8.v), [q] "m"(dword_at(q)));
#endif
}
inline I32x16 mul_scales(I32x16 scale, const int32_t* m) {
  return {_mm512_mullo_epi32(scale.v, _mm512_srai_epi32(broadcast_load_i32(m).v, 16))};
}
// The scales of two sub-blocks as pairs of int16, each times its m: m[0] for the first, m[1] for
// the second; an m holds its integer twice, so the dword two bytes further holds one of each.
inline I32x16 mul_scale_pair(I32x16 scales, const int32_t* m) {
  return {_mm512_mullo_epi16(scales.v,
                             broadcast_load_i32(reinterpret_cast<const std::byte*>(m) + 2).v)};
}
inline I32x16 fold(I32x16 acc, I32x16 sum, I32x16 scale) {
  return {_mm512_add_epi32(acc.v, _mm512_mullo_epi32(sum.v, scale.v))};
}
// Both sums fit an int16: as pairs they meet the pair of their factors in one instruction.
inline I32x16 fold_halves(I32x16 acc, I32x16 first, I32x16 second, const int32_t* m) {
  const __m512i sums =
      _mm512_mask_blend_epi16(0xaaaaaaaa, first.v, _mm512_slli_epi32(second.v, 16));
  add_dot_s16(acc, {sums}, reinterpret_cast<const std::byte*>(m) + 2);
  return acc;
}

}  // namespace
}  // namespace maglio

#include "kernels/simd/wide_sums.h"

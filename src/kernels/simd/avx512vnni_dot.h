// Products of small integers on AVX-512 VNNI: four bytes or two int16 a lane, added to an int32 by
// one instruction, whose factor comes from memory to all lanes without an instruction of its own.
//
// Assembly, because g++ 12 emits a separate broadcast.
#pragma once

#include "kernels/simd/avx512.h"

namespace maglio {
namespace {

constexpr size_t kTileRows = 12;  // of 32 registers: two sums a row, weights, scales

inline I32x16 dot_s16(I32x16 acc, I32x16 a, I32x16 b) {
  return {_mm512_dpwssd_epi32(acc.v, a.v, b.v)};
}
inline void add_dot_s16(I32x16& sum, I32x16 w, const void* q) {
  __asm__("vpdpwssd %[q]%{1to16%}, %[w], %[sum]"
          : [sum] "+v"(sum.v)
          : [w] "v"(w.v), [q] "m"(dword_at(q)));
}

// Nothing saturates: the sums are int32.
using ByteSum = I32x16;
inline ByteSum zero_byte_sum() {
  return zero_i32();
}
inline void add_dot_u8s8(ByteSum& sum, I32x16 u8, const void* q) {
  __asm__("vpdpbusd %[q]%{1to16%}, %[u], %[sum]"
          : [sum] "+v"(sum.v)
          : [u] "v"(u8.v), [q] "m"(dword_at(q)));
}
inline ByteSum first_dot_u8s8(I32x16 u, const void* q) {
  ByteSum sum = zero_byte_sum();
  add_dot_u8s8(sum, u, q);
  return sum;
}
constexpr size_t fold_every(int max_u) {
  return max_u > 0 ? 8 : 0;
}
// scale: equal int16 pairs, of which the upper one with its sign is the factor
inline I32x16 fold(I32x16 acc, ByteSum sum, I32x16 scale) {
  return {_mm512_add_epi32(acc.v, _mm512_mullo_epi32(sum.v, _mm512_srai_epi32(scale.v, 16)))};
}

}  // namespace
}  // namespace maglio

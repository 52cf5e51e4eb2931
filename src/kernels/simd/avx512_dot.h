// Products of small integers on AVX-512 without VNNI: pairs of byte products are summed as int16,
// which saturates, so that sums are folded in time.
#pragma once

#include "kernels/simd/avx512.h"

namespace maglio {
namespace {

constexpr size_t kTileRows = 12;  // of 32 registers: two sums a row, weights, scales

inline I32x16 dot_s16(I32x16 acc, I32x16 a, I32x16 b) {
  return {_mm512_add_epi32(acc.v, _mm512_madd_epi16(a.v, b.v))};
}
inline void add_dot_s16(I32x16& sum, I32x16 w, const void* q) {
  sum = dot_s16(sum, w, broadcast_load_i32(q));
}

// Two int16 a lane: bytes 0, 1 and bytes 2, 3.
struct ByteSum {
  __m512i v;
};
inline ByteSum zero_byte_sum() {
  return {_mm512_setzero_si512()};
}
inline ByteSum first_dot_u8s8(I32x16 u, const void* q) {
  return {_mm512_maddubs_epi16(u.v, broadcast_load_i32(q).v)};
}
inline void add_dot_u8s8(ByteSum& sum, I32x16 u, const void* q) {
  sum.v = _mm512_add_epi16(sum.v, first_dot_u8s8(u, q).v);
}
constexpr size_t fold_every(int max_u) {
  const int steps = 32767 / (2 * 127 * max_u);
  return steps >= 8 ? 8 : steps >= 4 ? 4 : steps >= 2 ? 2 : 1;
}
inline I32x16 fold(I32x16 acc, ByteSum sum, I32x16 scale) {
  return {_mm512_add_epi32(acc.v, _mm512_madd_epi16(sum.v, scale.v))};
}

}  // namespace
}  // namespace maglio

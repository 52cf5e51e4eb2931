// Products of small integers on AVX-512 without VNNI: pairs of byte products are summed as int16,
// which saturates, so that sums are folded in time.
#pragma once

#include "kernels/simd/avx512.h"

namespace maglio {
namespace {

constexpr bool kFreeUnpacking = false;
constexpr size_t kTileRows = 12;  // of 32 registers: two sums a row, weights, scales

inline I32x16 dot_s16(I32x16 acc, I32x16 a, I32x16 b) {
  return {_mm512_add_epi32(acc.v, _mm512_madd_epi16(a.v, b.v))};
}
// Written out for the order of instructions, as in avx2_dot.h: each broadcast stays beside its use.
inline void add_dot_s16(I32x16& sum, I32x16 w, const void* q) {
#if defined(MAGLIO_SIMDE)
  sum = dot_s16(sum, w, broadcast_load_i32(q));
#else
  __m512i t;
  __asm__(
      "vpbroadcastd %[q], %[t]\n\t"
      "vpmaddwd %[w], %[t], %[t]\n\t"
      "vpaddd %[t], %[sum], %[sum]"
      : [sum] "+v"(sum.v), [t] "=&v"(t)
      : [w] "v"(w.v), [q] "m"(dword_at(q)));
#endif
}

// Two int16 a lane: bytes 0, 1 and bytes 2, 3.
struct ByteSum {
  __m512i v;
};
inline ByteSum zero_byte_sum() {
  return {_mm512_setzero_si512()};
}
inline ByteSum first_dot_u8s8(I32x16 u, const void* q) {
#if defined(MAGLIO_SIMDE)
  return {_mm512_maddubs_epi16(u.v, broadcast_load_i32(q).v)};
#else
  ByteSum sum;
  __asm__(
      "vpbroadcastd %[q], %[sum]\n\t"
      "vpmaddubsw %[sum], %[u], %[sum]"
      : [sum] "=&v"(sum.v)
      : [u] "v"(u.v), [q] "m"(dword_at(q)));
  return sum;
#endif
}
inline void add_dot_u8s8(ByteSum& sum, I32x16 u, const void* q) {
#if defined(MAGLIO_SIMDE)
  sum.v = _mm512_add_epi16(sum.v, first_dot_u8s8(u, q).v);
#else
  __m512i t;
  __asm__(
      "vpbroadcastd %[q], %[t]\n\t"
      "vpmaddubsw %[t], %[u], %[t]\n\t"
      "vpaddw %[t], %[sum], %[sum]"
      : [sum] "+v"(sum.v), [t] "=&v"(t)
      : [u] "v"(u.v), [q] "m"(dword_at(q)));
#endif
}
inline I32x16 fold(I32x16 acc, ByteSum sum, I32x16 scale) {
  return {_mm512_add_epi32(acc.v, _mm512_madd_epi16(sum.v, scale.v))};
}
inline I32x16 mul_s16(I32x16 a, I32x16 b) {
  return {_mm512_mullo_epi16(a.v, b.v)};
}
inline I32x16 load_scales_s8(const void* p) {
  const __m512i c = _mm512_cvtepi8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p)));
  return {
      _mm512_or_si512(_mm512_slli_epi32(c, 16), _mm512_and_si512(c, _mm512_set1_epi32(0xffff)))};
}

}  // namespace
}  // namespace maglio

#include "kernels/simd/narrow_sums.h"

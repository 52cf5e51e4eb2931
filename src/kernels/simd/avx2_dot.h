// Products of small integers on AVX2: pairs of byte products are summed as int16, which saturates,
// so that sums are folded in time.
#pragma once

#include "kernels/simd/avx2.h"

namespace maglio {
namespace {

constexpr bool kFreeUnpacking = false;
// A Zen 3 reads 20 % faster with fetching and was best around 2 KB (5 % worse at 1 and 4); a Zen 4
// does as well or better without.
constexpr size_t kAhead = 2048;
constexpr size_t kTileRows = 6;  // 12 of 16 registers for sums; 16 rows x 6 spilled least

inline I32x16 dot_s16(I32x16 acc, I32x16 a, I32x16 b) {
  return {_mm256_add_epi32(acc.lo, _mm256_madd_epi16(a.lo, b.lo)),
          _mm256_add_epi32(acc.hi, _mm256_madd_epi16(a.hi, b.hi))};
}

// Written out because the order of instructions decides the speed: sixteen registers hold 12 sums,
// two vectors of weights and two temporaries only while each broadcast stays beside its use. From
// intrinsics g++ 12 gathers the loads of all rows at the top of the loop and spills the sums.
inline void add_dot_s16(I32x16& sum, I32x16 w, const void* q) {
  __m256i t;
  __m256i u;
  __asm__(
      "vpbroadcastd %[q], %[t]\n\t"
      "vpmaddwd %[w_lo], %[t], %[u]\n\t"
      "vpmaddwd %[w_hi], %[t], %[t]\n\t"
      "vpaddd %[u], %[lo], %[lo]\n\t"
      "vpaddd %[t], %[hi], %[hi]"
      : [lo] "+x"(sum.lo), [hi] "+x"(sum.hi), [t] "=&x"(t), [u] "=&x"(u)
      : [w_lo] "x"(w.lo), [w_hi] "x"(w.hi), [q] "m"(dword_at(q)));
}

// Two int16 a lane: bytes 0, 1 and bytes 2, 3. VPMADDUBSW saturates, so sums are folded in time.
struct ByteSum {
  __m256i lo, hi;
};
inline ByteSum zero_byte_sum() {
  return {_mm256_setzero_si256(), _mm256_setzero_si256()};
}
inline void add_dot_u8s8(ByteSum& sum, I32x16 u8, const void* q) {
  __m256i t;
  __m256i u;
  __asm__(
      "vpbroadcastd %[q], %[t]\n\t"
      "vpmaddubsw %[t], %[u_lo], %[u]\n\t"
      "vpmaddubsw %[t], %[u_hi], %[t]\n\t"
      "vpaddw %[u], %[lo], %[lo]\n\t"
      "vpaddw %[t], %[hi], %[hi]"
      : [lo] "+x"(sum.lo), [hi] "+x"(sum.hi), [t] "=&x"(t), [u] "=&x"(u)
      : [u_lo] "x"(u8.lo), [u_hi] "x"(u8.hi), [q] "m"(dword_at(q)));
}
inline ByteSum first_dot_u8s8(I32x16 u, const void* q) {
  ByteSum sum;
  __asm__(
      "vpbroadcastd %[q], %[hi]\n\t"
      "vpmaddubsw %[hi], %[u_lo], %[lo]\n\t"
      "vpmaddubsw %[hi], %[u_hi], %[hi]"
      : [lo] "=&x"(sum.lo), [hi] "=&x"(sum.hi)
      : [u_lo] "x"(u.lo), [u_hi] "x"(u.hi), [q] "m"(dword_at(q)));
  return sum;
}
inline I32x16 fold(I32x16 acc, ByteSum sum, I32x16 scale) {
  return {_mm256_add_epi32(acc.lo, _mm256_madd_epi16(sum.lo, scale.lo)),
          _mm256_add_epi32(acc.hi, _mm256_madd_epi16(sum.hi, scale.hi))};
}
inline I32x16 load_scales_s8(const void* p) {
  // Each byte into both upper bytes of its dword's int16s, then down with its sign.
  const __m256i c = _mm256_broadcastsi128_si256(_mm_loadu_si128(static_cast<const __m128i*>(p)));
  const __m256i first = _mm256_setr_epi8(-1, 0, -1, 0, -1, 1, -1, 1, -1, 2, -1, 2, -1, 3, -1, 3,  //
                                         -1, 4, -1, 4, -1, 5, -1, 5, -1, 6, -1, 6, -1, 7, -1, 7);
  const __m256i second = _mm256_add_epi8(first, _mm256_set1_epi16(0x0800));
  return {_mm256_srai_epi16(_mm256_shuffle_epi8(c, first), 8),
          _mm256_srai_epi16(_mm256_shuffle_epi8(c, second), 8)};
}
inline I32x16 mul_s16(I32x16 a, I32x16 b) {
  return {_mm256_mullo_epi16(a.lo, b.lo), _mm256_mullo_epi16(a.hi, b.hi)};
}

}  // namespace
}  // namespace maglio

#include "kernels/simd/narrow_sums.h"

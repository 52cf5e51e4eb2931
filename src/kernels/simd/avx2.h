// The vector vocabulary on AVX2 with FMA and F16C: 16 lanes are two ymm registers.
//
// The meaning of each operation is in simd/scalar.h. The products of small integers, where sets
// with and without VNNI differ, are in avx2_dot.h and avxvnni_dot.h. Only the units isa_avx2.cpp
// and isa_avxvnni.cpp include this file.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace maglio {
namespace {

constexpr size_t kLanes = 16;

struct F32x16 {
  __m256 lo, hi;
};
struct I32x16 {
  __m256i lo, hi;
};

// Lanes [0, n) of eight all ones.
inline __m256i first_lanes(size_t n) {
  const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), index);
}
inline size_t high_count(size_t n) {
  return n > 8 ? n - 8 : 0;
}

// --- Floats -------------------------------------------------------------------------------------
inline F32x16 load(const float* p) {
  return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}
inline F32x16 load_first(const float* p, size_t n) {
  return {_mm256_maskload_ps(p, first_lanes(n)),
          _mm256_maskload_ps(p + 8, first_lanes(high_count(n)))};
}
inline void store(float* p, F32x16 x) {
  _mm256_storeu_ps(p, x.lo);
  _mm256_storeu_ps(p + 8, x.hi);
}
inline void store_first(float* p, F32x16 x, size_t n) {
  _mm256_maskstore_ps(p, first_lanes(n), x.lo);
  _mm256_maskstore_ps(p + 8, first_lanes(high_count(n)), x.hi);
}
inline F32x16 broadcast(float x) {
  return {_mm256_set1_ps(x), _mm256_set1_ps(x)};
}
inline F32x16 zero_f32() {
  return {_mm256_setzero_ps(), _mm256_setzero_ps()};
}
inline F32x16 load_half(const uint16_t* p) {
  const auto* q = reinterpret_cast<const __m128i*>(p);
  return {_mm256_cvtph_ps(_mm_loadu_si128(q)), _mm256_cvtph_ps(_mm_loadu_si128(q + 1))};
}
inline void store_half(uint16_t* p, F32x16 x) {
  auto* q = reinterpret_cast<__m128i*>(p);
  _mm_storeu_si128(q, _mm256_cvtps_ph(x.lo, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  _mm_storeu_si128(q + 1, _mm256_cvtps_ph(x.hi, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

inline F32x16 add(F32x16 a, F32x16 b) {
  return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)};
}
inline F32x16 sub(F32x16 a, F32x16 b) {
  return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)};
}
inline F32x16 mul(F32x16 a, F32x16 b) {
  return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)};
}
inline F32x16 div(F32x16 a, F32x16 b) {
  return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)};
}
inline F32x16 square_root(F32x16 a) {
  return {_mm256_sqrt_ps(a.lo), _mm256_sqrt_ps(a.hi)};
}
inline F32x16 fma(F32x16 a, F32x16 b, F32x16 c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
inline F32x16 fnma(F32x16 a, F32x16 b, F32x16 c) {
  return {_mm256_fnmadd_ps(a.lo, b.lo, c.lo), _mm256_fnmadd_ps(a.hi, b.hi, c.hi)};
}
inline F32x16 max(F32x16 a, F32x16 b) {
  return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)};
}
inline F32x16 min(F32x16 a, F32x16 b) {
  return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)};
}
inline F32x16 abs(F32x16 a) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_andnot_ps(sign, a.lo), _mm256_andnot_ps(sign, a.hi)};
}
inline float reduce_add(F32x16 x) {
  const __m256 eight = _mm256_add_ps(x.lo, x.hi);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline float reduce_max(F32x16 x) {
  const __m256 eight = _mm256_max_ps(x.lo, x.hi);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

inline I32x16 less(F32x16 a, F32x16 b) {
  return {_mm256_castps_si256(_mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ)),
          _mm256_castps_si256(_mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ))};
}
inline F32x16 select(I32x16 mask, F32x16 x, F32x16 y) {
  return {_mm256_blendv_ps(y.lo, x.lo, _mm256_castsi256_ps(mask.lo)),
          _mm256_blendv_ps(y.hi, x.hi, _mm256_castsi256_ps(mask.hi))};
}

// --- Conversions --------------------------------------------------------------------------------
inline F32x16 to_f32(I32x16 x) {
  return {_mm256_cvtepi32_ps(x.lo), _mm256_cvtepi32_ps(x.hi)};
}
inline I32x16 round_to_i32(F32x16 x) {
  return {_mm256_cvtps_epi32(x.lo), _mm256_cvtps_epi32(x.hi)};
}
inline F32x16 bits_to_f32(I32x16 x) {
  return {_mm256_castsi256_ps(x.lo), _mm256_castsi256_ps(x.hi)};
}
inline I32x16 f32_to_bits(F32x16 x) {
  return {_mm256_castps_si256(x.lo), _mm256_castps_si256(x.hi)};
}

// --- Dwords -------------------------------------------------------------------------------------
inline I32x16 load_i32(const void* p) {
  const auto* q = static_cast<const __m256i*>(p);
  return {_mm256_loadu_si256(q), _mm256_loadu_si256(q + 1)};
}
inline void store_i32(void* p, I32x16 x) {
  auto* q = static_cast<__m256i*>(p);
  _mm256_storeu_si256(q, x.lo);
  _mm256_storeu_si256(q + 1, x.hi);
}
inline I32x16 load_s8(const int8_t* p) {
  return {_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))),
          _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p + 8)))};
}
inline I32x16 broadcast_i32(int32_t x) {
  return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)};
}
inline I32x16 broadcast_load_i32(const void* p) {
  int32_t x = 0;
  __builtin_memcpy(&x, p, sizeof x);
  const __m256i all = _mm256_set1_epi32(x);
  return {all, all};
}
inline I32x16 zero_i32() {
  return {_mm256_setzero_si256(), _mm256_setzero_si256()};
}
inline I32x16 add_i32(I32x16 a, I32x16 b) {
  return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)};
}
inline I32x16 sub_i32(I32x16 a, I32x16 b) {
  return {_mm256_sub_epi32(a.lo, b.lo), _mm256_sub_epi32(a.hi, b.hi)};
}
inline I32x16 bit_and(I32x16 a, I32x16 b) {
  return {_mm256_and_si256(a.lo, b.lo), _mm256_and_si256(a.hi, b.hi)};
}
inline I32x16 and_or(I32x16 a, I32x16 mask, I32x16 b) {
  return {_mm256_or_si256(_mm256_and_si256(a.lo, mask.lo), b.lo),
          _mm256_or_si256(_mm256_and_si256(a.hi, mask.hi), b.hi)};
}
inline I32x16 bit_or(I32x16 a, I32x16 b) {
  return {_mm256_or_si256(a.lo, b.lo), _mm256_or_si256(a.hi, b.hi)};
}
template <int kBits>
inline I32x16 shift_left(I32x16 a) {
  return {_mm256_slli_epi32(a.lo, kBits), _mm256_slli_epi32(a.hi, kBits)};
}
template <int kBits>
inline I32x16 shift_right(I32x16 a) {
  return {_mm256_srli_epi32(a.lo, kBits), _mm256_srli_epi32(a.hi, kBits)};
}

inline int32_t reduce_add_i32(I32x16 x) {
  const __m256i eight = _mm256_add_epi32(x.lo, x.hi);
  const __m128i four =
      _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}
// Sixteen int16 in the order of the lanes.
inline __m256i narrow_s16(I32x16 x) {
  return _mm256_permute4x64_epi64(_mm256_packs_epi32(x.lo, x.hi), 0xd8);
}
inline void store_s8(int8_t* p, I32x16 x) {
  const __m256i words = narrow_s16(x);
  _mm_storeu_si128(
      reinterpret_cast<__m128i*>(p),
      _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
}
inline void store_s16_pairs(int16_t* p, I32x16 x) {
  const __m256i words = narrow_s16(x);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm256_shufflehi_epi16(_mm256_shufflelo_epi16(words, 0xd8), 0xd8));
}

inline I32x16 shift_left_by(I32x16 a, size_t n) {
  return {_mm256_slli_epi32(a.lo, static_cast<int>(n)),
          _mm256_slli_epi32(a.hi, static_cast<int>(n))};
}
inline I32x16 shift_right_by(I32x16 a, size_t n) {
  return {_mm256_srli_epi32(a.lo, static_cast<int>(n)),
          _mm256_srli_epi32(a.hi, static_cast<int>(n))};
}

// --- Pairs of int16 ---------------------------------------------------------------------------
inline I32x16 even_s8(I32x16 x) {
  return {_mm256_srai_epi16(_mm256_slli_epi16(x.lo, 8), 8),
          _mm256_srai_epi16(_mm256_slli_epi16(x.hi, 8), 8)};
}
inline I32x16 odd_s8(I32x16 x) {
  return {_mm256_srai_epi16(x.lo, 8), _mm256_srai_epi16(x.hi, 8)};
}
// Pairs: the upper twelve bits of each half.
inline I32x16 upper_s12(I32x16 x) {
  return {_mm256_srai_epi16(x.lo, 4), _mm256_srai_epi16(x.hi, 4)};
}
inline I32x16 even_u8(I32x16 x) {
  const __m256i low = _mm256_set1_epi16(0x00ff);
  return {_mm256_and_si256(x.lo, low), _mm256_and_si256(x.hi, low)};
}
inline I32x16 odd_u8(I32x16 x) {
  return {_mm256_srli_epi16(x.lo, 8), _mm256_srli_epi16(x.hi, 8)};
}
inline I32x16 sub_s16(I32x16 x, int16_t c) {
  const __m256i all = _mm256_set1_epi16(c);
  return {_mm256_sub_epi16(x.lo, all), _mm256_sub_epi16(x.hi, all)};
}
inline I32x16 load_pairs_s8(const void* a, const void* b) {
  const __m128i x = _mm_loadu_si128(static_cast<const __m128i*>(a));
  const __m128i y = _mm_loadu_si128(static_cast<const __m128i*>(b));
  return {_mm256_cvtepi8_epi16(_mm_unpacklo_epi8(x, y)),
          _mm256_cvtepi8_epi16(_mm_unpackhi_epi8(x, y))};
}

// One cache line on its way; reading past the end of an array is harmless here.
// Not intrinsics: g++ 12 drops calls and loops in which it sees nothing but those.
inline void prefetch(const void* p) {
  __asm__ volatile("prefetcht0 %0" : : "m"(*static_cast<const char*>(p)));
}
inline void prefetch_to_l2(const void* p) {
  __asm__ volatile("prefetcht1 %0" : : "m"(*static_cast<const char*>(p)));
}
inline void prefetch_for_writing(void* p) {
  __asm__ volatile("prefetchw %0" : : "m"(*static_cast<const char*>(p)));
}

// The dword at an address, wherever it lies, as an operand of assembly.
struct __attribute__((packed, may_alias)) AnyDword {
  int32_t value;
};
inline const AnyDword& dword_at(const void* p) {
  return *static_cast<const AnyDword*>(p);
}

}  // namespace
}  // namespace maglio

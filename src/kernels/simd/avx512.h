// The vector vocabulary on AVX-512 (F, BW, DQ, VL): 16 lanes are one zmm register.
//
// The meaning of each operation is in simd/scalar.h. The products of small integers, where sets
// with and without VNNI differ, are in avx512_dot.h and avx512vnni_dot.h. Only the units
// isa_avx512*.cpp include this file.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace maglio {
namespace {

constexpr size_t kLanes = 16;
// The hardware's prefetching alone is faster on 64-byte loads. Zen 4, one core, GB/s of one row
// with fetching 8 KB ahead, and without: Q8_0 23.2, 26.5; Q4_K 18.0, 27.1; Q6_K 17.4, 25.8 (read 26
// to 29).
constexpr size_t kAhead = 0;

struct F32x16 {
  __m512 v;
};
struct I32x16 {
  __m512i v;
};

inline __mmask16 first_lanes(size_t n) {
  return static_cast<__mmask16>((1u << n) - 1u);
}

// --- Floats -------------------------------------------------------------------------------------
inline F32x16 load(const float* p) {
  return {_mm512_loadu_ps(p)};
}
inline F32x16 load_first(const float* p, size_t n) {
  return {_mm512_maskz_loadu_ps(first_lanes(n), p)};
}
inline void store(float* p, F32x16 x) {
  _mm512_storeu_ps(p, x.v);
}
inline void store_first(float* p, F32x16 x, size_t n) {
  _mm512_mask_storeu_ps(p, first_lanes(n), x.v);
}
inline F32x16 broadcast(float x) {
  return {_mm512_set1_ps(x)};
}
inline F32x16 zero_f32() {
  return {_mm512_setzero_ps()};
}
inline F32x16 load_half(const uint16_t* p) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
inline void store_half(uint16_t* p, F32x16 x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtps_ph(x.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

inline F32x16 add(F32x16 a, F32x16 b) {
  return {_mm512_add_ps(a.v, b.v)};
}
inline F32x16 sub(F32x16 a, F32x16 b) {
  return {_mm512_sub_ps(a.v, b.v)};
}
inline F32x16 mul(F32x16 a, F32x16 b) {
  return {_mm512_mul_ps(a.v, b.v)};
}
inline F32x16 div(F32x16 a, F32x16 b) {
  return {_mm512_div_ps(a.v, b.v)};
}
inline F32x16 square_root(F32x16 a) {
  return {_mm512_sqrt_ps(a.v)};
}
inline F32x16 fma(F32x16 a, F32x16 b, F32x16 c) {
  return {_mm512_fmadd_ps(a.v, b.v, c.v)};
}
inline F32x16 fnma(F32x16 a, F32x16 b, F32x16 c) {
  return {_mm512_fnmadd_ps(a.v, b.v, c.v)};
}
inline F32x16 max(F32x16 a, F32x16 b) {
  return {_mm512_max_ps(a.v, b.v)};
}
inline F32x16 min(F32x16 a, F32x16 b) {
  return {_mm512_min_ps(a.v, b.v)};
}
inline F32x16 abs(F32x16 a) {
  return {_mm512_andnot_ps(_mm512_set1_ps(-0.0f), a.v)};
}
inline float reduce_add(F32x16 x) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(x.v), _mm512_extractf32x8_ps(x.v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline float reduce_max(F32x16 x) {
  const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(x.v), _mm512_extractf32x8_ps(x.v, 1));
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

inline I32x16 less(F32x16 a, F32x16 b) {
  return {_mm512_movm_epi32(_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ))};
}
inline F32x16 select(I32x16 mask, F32x16 x, F32x16 y) {
  return {_mm512_mask_blend_ps(_mm512_movepi32_mask(mask.v), y.v, x.v)};
}

// --- Conversions --------------------------------------------------------------------------------
inline F32x16 to_f32(I32x16 x) {
  return {_mm512_cvtepi32_ps(x.v)};
}
inline I32x16 round_to_i32(F32x16 x) {
  return {_mm512_cvtps_epi32(x.v)};
}
inline F32x16 bits_to_f32(I32x16 x) {
  return {_mm512_castsi512_ps(x.v)};
}
inline I32x16 f32_to_bits(F32x16 x) {
  return {_mm512_castps_si512(x.v)};
}

// --- Dwords -------------------------------------------------------------------------------------
inline I32x16 load_i32(const void* p) {
  return {_mm512_loadu_si512(p)};
}
inline void store_i32(void* p, I32x16 x) {
  _mm512_storeu_si512(p, x.v);
}
inline I32x16 load_s8(const int8_t* p) {
  return {_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
inline I32x16 broadcast_i32(int32_t x) {
  return {_mm512_set1_epi32(x)};
}
inline I32x16 broadcast_load_i32(const void* p) {
  int32_t x = 0;
  __builtin_memcpy(&x, p, sizeof x);
  return {_mm512_set1_epi32(x)};
}
inline I32x16 zero_i32() {
  return {_mm512_setzero_si512()};
}
inline I32x16 add_i32(I32x16 a, I32x16 b) {
  return {_mm512_add_epi32(a.v, b.v)};
}
inline I32x16 sub_i32(I32x16 a, I32x16 b) {
  return {_mm512_sub_epi32(a.v, b.v)};
}
inline I32x16 bit_and(I32x16 a, I32x16 b) {
  return {_mm512_and_si512(a.v, b.v)};
}
inline I32x16 and_or(I32x16 a, I32x16 mask, I32x16 b) {
  return {_mm512_ternarylogic_epi32(a.v, mask.v, b.v, 0xea)};  // the bits of (a & b) | c
}
inline I32x16 bit_or(I32x16 a, I32x16 b) {
  return {_mm512_or_si512(a.v, b.v)};
}
template <int kBits>
inline I32x16 shift_left(I32x16 a) {
  return {_mm512_slli_epi32(a.v, kBits)};
}
template <int kBits>
inline I32x16 shift_right(I32x16 a) {
  return {_mm512_srli_epi32(a.v, kBits)};
}
inline I32x16 shift_left_by(I32x16 a, size_t n) {
  return {_mm512_slli_epi32(a.v, static_cast<unsigned>(n))};
}
inline I32x16 shift_right_by(I32x16 a, size_t n) {
  return {_mm512_srli_epi32(a.v, static_cast<unsigned>(n))};
}

inline int32_t reduce_add_i32(I32x16 x) {
  return _mm512_reduce_add_epi32(x.v);
}
inline void store_s8(int8_t* p, I32x16 x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(x.v));
}
inline void store_s16_pairs(int16_t* p, I32x16 x) {
  const __m256i words = _mm512_cvtepi32_epi16(x.v);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm256_shufflehi_epi16(_mm256_shufflelo_epi16(words, 0xd8), 0xd8));
}

// --- Pairs of int16 -----------------------------------------------------------------------------
inline I32x16 even_s8(I32x16 x) {
  return {_mm512_srai_epi16(_mm512_slli_epi16(x.v, 8), 8)};
}
inline I32x16 odd_s8(I32x16 x) {
  return {_mm512_srai_epi16(x.v, 8)};
}
// Pairs: the upper twelve bits of each half.
inline I32x16 upper_s12(I32x16 x) {
  return {_mm512_srai_epi16(x.v, 4)};
}
inline I32x16 even_u8(I32x16 x) {
  return {_mm512_and_si512(x.v, _mm512_set1_epi16(0x00ff))};
}
inline I32x16 odd_u8(I32x16 x) {
  return {_mm512_srli_epi16(x.v, 8)};
}
inline I32x16 sub_s16(I32x16 x, int16_t c) {
  return {_mm512_sub_epi16(x.v, _mm512_set1_epi16(c))};
}
inline I32x16 load_pairs_s8(const void* a, const void* b) {
  const __m128i x = _mm_loadu_si128(static_cast<const __m128i*>(a));
  const __m128i y = _mm_loadu_si128(static_cast<const __m128i*>(b));
  const __m256i bytes = _mm256_set_m128i(_mm_unpackhi_epi8(x, y), _mm_unpacklo_epi8(x, y));
  return {_mm512_cvtepi8_epi16(bytes)};
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

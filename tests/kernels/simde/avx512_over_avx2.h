// AVX-512's intrinsics for a machine that has only AVX2: SIMDe, which computes them in two halves,
// and the few that its version 0.7.4 (Debian 12) lacks. Included before simd/avx512*.h, it lets
// that source be compiled without AVX-512 and be tested by equality anywhere. Tests only.
#pragma once

#define MAGLIO_SIMDE 1  // asks the vocabulary for intrinsics where it would use assembly
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

namespace {

struct Halves {
  __m256i lo, hi;
};
// By memcpy: __builtin_bit_cast of these types crashes g++ 12.
template <class To, class From>
inline To same_bytes(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}
inline Halves halves(__m512i x) {
  return same_bytes<Halves>(x);
}
inline Halves halves_of_floats(__m512 x) {
  return same_bytes<Halves>(x);
}
inline __m512i whole(__m256i lo, __m256i hi) {
  return same_bytes<__m512i>(Halves{lo, hi});
}
inline __m512 whole_of_floats(__m256 lo, __m256 hi) {
  return same_bytes<__m512>(Halves{_mm256_castps_si256(lo), _mm256_castps_si256(hi)});
}
inline __m128i upper(__m256i x) {
  return _mm256_extracti128_si256(x, 1);
}

inline __m512i simde_cvtepi8_epi32(__m128i x) {
  return whole(_mm256_cvtepi8_epi32(x), _mm256_cvtepi8_epi32(_mm_srli_si128(x, 8)));
}
inline __m512i simde_cvtepu16_epi32(__m256i x) {
  return whole(_mm256_cvtepu16_epi32(_mm256_castsi256_si128(x)), _mm256_cvtepu16_epi32(upper(x)));
}
inline __m256i simde_cvtepi32_epi16(__m512i x) {
  // The low half of each dword to the front of its 128 bits, then the four fronts together.
  const __m256i front = _mm256_set1_epi64x(0x0d0c090805040100);
  const __m256i lo = _mm256_shuffle_epi8(halves(x).lo, front);
  const __m256i hi = _mm256_shuffle_epi8(halves(x).hi, front);
  return _mm256_permute4x64_epi64(_mm256_unpacklo_epi64(lo, hi), 0xd8);
}
inline __m128i simde_cvtepi32_epi8(__m512i x) {
  const __m256i low = _mm256_and_si256(simde_cvtepi32_epi16(x), _mm256_set1_epi16(0xff));
  return _mm_packus_epi16(_mm256_castsi256_si128(low), upper(low));
}
inline __m512 simde_cvtepi32_ps(__m512i x) {
  return whole_of_floats(_mm256_cvtepi32_ps(halves(x).lo), _mm256_cvtepi32_ps(halves(x).hi));
}
inline __m512i simde_cvtps_epi32(__m512 x) {
  const Halves h = halves_of_floats(x);
  return whole(_mm256_cvtps_epi32(_mm256_castsi256_ps(h.lo)),
               _mm256_cvtps_epi32(_mm256_castsi256_ps(h.hi)));
}
inline __m512 simde_cvtph_ps(__m256i x) {
  return whole_of_floats(_mm256_cvtph_ps(_mm256_castsi256_si128(x)), _mm256_cvtph_ps(upper(x)));
}
template <int kRounding>
inline __m256i simde_cvtps_ph(__m512 x) {
  const Halves h = halves_of_floats(x);
  return _mm256_set_m128i(_mm256_cvtps_ph(_mm256_castsi256_ps(h.hi), kRounding),
                          _mm256_cvtps_ph(_mm256_castsi256_ps(h.lo), kRounding));
}
template <int kHalf>
inline __m256 simde_extractf32x8_ps(__m512 x) {
  const Halves h = halves_of_floats(x);
  return _mm256_castsi256_ps(kHalf == 0 ? h.lo : h.hi);
}
// All ones in the dwords whose bit is set.
inline Halves simde_mask(unsigned bits) {
  const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const auto eight = [bit](unsigned b) {
    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(static_cast<int>(b)), bit), bit);
  };
  return {eight(bits), eight(bits >> 8)};
}
inline __m512 simde_maskz_loadu_ps(unsigned mask, const float* p) {
  const Halves m = simde_mask(mask);
  return whole_of_floats(_mm256_maskload_ps(p, m.lo), _mm256_maskload_ps(p + 8, m.hi));
}
inline void simde_mask_storeu_ps(float* p, unsigned mask, __m512 x) {
  const Halves m = simde_mask(mask);
  const Halves h = halves_of_floats(x);
  _mm256_maskstore_ps(p, m.lo, _mm256_castsi256_ps(h.lo));
  _mm256_maskstore_ps(p + 8, m.hi, _mm256_castsi256_ps(h.hi));
}
inline int simde_reduce_add_epi32(__m512i x) {
  const __m256i eight = _mm256_add_epi32(halves(x).lo, halves(x).hi);
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), upper(eight));
  const __m128i two = _mm_hadd_epi32(four, four);
  return _mm_cvtsi128_si32(_mm_hadd_epi32(two, two));
}
template <int kBits>
inline __m512i simde_srai_epi32(__m512i x) {
  return whole(_mm256_srai_epi32(halves(x).lo, kBits), _mm256_srai_epi32(halves(x).hi, kBits));
}

}  // namespace

#define _mm512_cvtepi8_epi32(x) simde_cvtepi8_epi32(x)
#define _mm512_cvtepu16_epi32(x) simde_cvtepu16_epi32(x)
#define _mm512_cvtepi32_epi16(x) simde_cvtepi32_epi16(x)
#define _mm512_cvtepi32_epi8(x) simde_cvtepi32_epi8(x)
#define _mm512_cvtepi32_ps(x) simde_cvtepi32_ps(x)
#define _mm512_cvtps_epi32(x) simde_cvtps_epi32(x)
#define _mm512_cvtph_ps(x) simde_cvtph_ps(x)
#undef _mm512_cvtps_ph
#define _mm512_cvtps_ph(x, rounding) simde_cvtps_ph<rounding>(x)
#undef _mm512_extractf32x8_ps
#define _mm512_extractf32x8_ps(x, half) simde_extractf32x8_ps<half>(x)
#define _mm512_maskz_loadu_ps(mask, p) simde_maskz_loadu_ps(mask, p)
#define _mm512_mask_storeu_ps(p, mask, x) simde_mask_storeu_ps(p, mask, x)
#define _mm512_reduce_add_epi32(x) simde_reduce_add_epi32(x)
#undef _mm512_srai_epi32
#define _mm512_srai_epi32(x, n) simde_srai_epi32<n>(x)
// SIMDe's own alias has the parameters of the masked form.
#undef _mm512_madd_epi16
#define _mm512_madd_epi16(a, b) simde_mm512_madd_epi16(a, b)

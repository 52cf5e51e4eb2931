// Products of quantized weights by the matrix instructions of AArch64 (i8mm): SMMLA adds to a 2 x 2
// matrix of int32 the products of two rows of eight bytes with two others, twice the work of a dot
// product. The integers are exact, so the bits are those of the generic formats, from which these
// are derived; they differ where a tile of rows runs over expanded weights.
//
//   units    a pair of units [16 weight rows][4 bytes] is zipped to [16][8], eight registers of
//            two weight rows each
//   sums     two activation rows x with eight such registers w: register j has
//            x0 w_2j, x0 w_2j+1, x1 w_2j, x1 w_2j+1
//   int16    q = 256 h + l, h its signed upper byte and l its unsigned lower one: the products with
//            h, shifted up, then those with l (USMMLA)
#pragma once

#include "kernels/generic/table.inl"

namespace maglio {
namespace {

// Zips n units, two by two, in place.
inline void zip_units(std::byte (*units)[kUnit], size_t n) {
  for (size_t g = 0; g < n; g += 2) {
    const I32x16 first = load_i32(units[g]);
    const I32x16 second = load_i32(units[g + 1]);
    const auto zip = [&](int i) {
      return I32x16{{vzip1q_s32(first.q[i], second.q[i]), vzip2q_s32(first.q[i], second.q[i]),
                     vzip1q_s32(first.q[i + 1], second.q[i + 1]),
                     vzip2q_s32(first.q[i + 1], second.q[i + 1])}};
    };
    store_i32(units[g], zip(0));
    store_i32(units[g + 1], zip(2));
  }
}

// The running sums of kRows activation rows, two by two; an odd last row is paired with itself.
template <size_t kRows>
struct PairSums {
  static constexpr size_t kPairs = (kRows + 1) / 2;
  int32x4_t q[kPairs][8];

  PairSums() {
#pragma GCC unroll 8
    for (size_t p = 0; p < kPairs; ++p) {
#pragma GCC unroll 8
      for (size_t j = 0; j < 8; ++j) q[p][j] = vdupq_n_s32(0);
    }
  }

  // Adds the products over eight values: step(w, sum, p) with each register of weights.
  template <class Step>
  [[gnu::always_inline]] void add(const std::byte* units, Step step) {
    const auto* bytes = reinterpret_cast<const int8_t*>(units);
#pragma GCC unroll 8
    for (size_t j = 0; j < 8; ++j) {
      const int8x16_t w = vld1q_s8(bytes + 16 * j);
#pragma GCC unroll 8
      for (size_t p = 0; p < kPairs; ++p) q[p][j] = step(w, q[p][j], p);
    }
  }

  I32x16 of_row(size_t r) const {
    const int32x4_t* pair = q[r / 2];
    return i32_quarters([&](int i) {
      const int64x2_t a = vreinterpretq_s64_s32(pair[2 * i]);
      const int64x2_t b = vreinterpretq_s64_s32(pair[2 * i + 1]);
      return vreinterpretq_s32_s64(r % 2 == 0 ? vzip1q_s64(a, b) : vzip2q_s64(a, b));
    });
  }
};

// The two rows of pair p.
template <size_t kRows, class T>
[[gnu::always_inline]] inline auto row_pair(const T* const* rows, size_t p) {
  struct Two {
    const T* first;
    const T* second;
  };
  return Two{rows[2 * p], rows[2 * p + 1 < kRows ? 2 * p + 1 : 2 * p]};
}

// sum[r]: the products of kValues bytes at rows[r] with zipped units.
template <size_t kRows, size_t kValues>
[[gnu::always_inline]] inline void sum_bytes(const std::byte (*units)[kUnit],
                                             const int8_t* const* rows,
                                             I32x16* sum) {
  PairSums<kRows> sums;
#pragma GCC unroll 4
  for (size_t v = 0; v < kValues; v += 8) {
    int8x16_t x[sums.kPairs];
#pragma GCC unroll 8
    for (size_t p = 0; p < sums.kPairs; ++p) {
      const auto two = row_pair<kRows>(rows, p);
      x[p] = vcombine_s8(vld1_s8(two.first + v), vld1_s8(two.second + v));
    }
    sums.add(units[v / 4],
             [&](int8x16_t w, int32x4_t s, size_t p) { return vmmlaq_s32(s, x[p], w); });
  }
#pragma GCC unroll 8
  for (size_t r = 0; r < kRows; ++r) sum[r] = sums.of_row(r);
}

// sum[r]: the products of 32 int16 at rows[r] with zipped units.
template <size_t kRows>
[[gnu::always_inline]] inline void sum_words(const std::byte (*units)[kUnit],
                                             const int16_t* const* rows,
                                             I32x16* sum) {
  PairSums<kRows> sums;
  const auto bytes_at = [](const int16_t* p) { return vreinterpretq_s8_s16(vld1q_s16(p)); };
#pragma GCC unroll 4
  for (size_t v = 0; v < 32; v += 8) {
    int8x16_t upper[sums.kPairs];
#pragma GCC unroll 8
    for (size_t p = 0; p < sums.kPairs; ++p) {
      const auto two = row_pair<kRows>(rows, p);
      upper[p] = vuzp2q_s8(bytes_at(two.first + v), bytes_at(two.second + v));
    }
    sums.add(units[v / 4],
             [&](int8x16_t w, int32x4_t s, size_t p) { return vmmlaq_s32(s, upper[p], w); });
  }
#pragma GCC unroll 8
  for (size_t p = 0; p < sums.kPairs; ++p) {
#pragma GCC unroll 8
    for (size_t j = 0; j < 8; ++j) sums.q[p][j] = vshlq_n_s32(sums.q[p][j], 8);
  }
#pragma GCC unroll 4
  for (size_t v = 0; v < 32; v += 8) {
    uint8x16_t lower[sums.kPairs];
#pragma GCC unroll 8
    for (size_t p = 0; p < sums.kPairs; ++p) {
      const auto two = row_pair<kRows>(rows, p);
      lower[p] = vreinterpretq_u8_s8(vuzp1q_s8(bytes_at(two.first + v), bytes_at(two.second + v)));
    }
    sums.add(units[v / 4],
             [&](int8x16_t w, int32x4_t s, size_t p) { return vusmmlaq_s32(s, lower[p], w); });
  }
#pragma GCC unroll 8
  for (size_t r = 0; r < kRows; ++r) sum[r] = sums.of_row(r);
}

// --- Q4_K, Q5_K, Q6_K ---------------------------------------------------------------------------
struct ZippedSubBlock {
  const std::byte (*units)[kUnit];
};
template <size_t kSubs, size_t kPairs>
struct ZippedA8k : ExpandedA8k<kSubs, kPairs> {
  ZippedSubBlock sub_block(size_t s, size_t i) const {
    return {ExpandedA8k<kSubs, kPairs>::sub_block(s, i).units};
  }
};

// The overload for zipped units of matmul_a8k.inl's function; the generic format finds it by the
// type of its argument.
template <size_t kRows, size_t kGroups, int>
[[gnu::always_inline]] inline void add_sub_block(I32x16* sum,
                                                 const ZippedSubBlock& w,
                                                 I32x16 scale,
                                                 const A8kChunk* a,
                                                 size_t value,
                                                 size_t m_i) {
  const int8_t* rows[kRows];
#pragma GCC unroll 8
  for (size_t r = 0; r < kRows; ++r) rows[r] = a[r].q + value;
  I32x16 part[kRows];
  sum_bytes<kRows, 4 * kGroups>(w.units, rows, part);
#pragma GCC unroll 8
  for (size_t r = 0; r < kRows; ++r) {
    sum[r] = fold(sum[r], part[r], mul_scales(scale, &a[r].m[m_i]));
  }
}

template <bool kFiveBits>
struct ZippedAffineFormat : AffineFormat<kFiveBits> {
  using Generic = AffineFormat<kFiveBits>;
  using Expanded = ZippedA8k<8, 4>;
  static void expand(const typename Generic::Packed& w, size_t n_values, Expanded& out) {
    Generic::expand(w, n_values, out);
    zip_units(out.units, kChunk / 4);
  }
};

struct ZippedQ6_KFormat : Q6_KFormat {
  using Expanded = ZippedA8k<16, 8>;
  static void expand(const Packed& w, size_t n_values, Expanded& out) {
    Q6_KFormat::expand(w, n_values, out);
    zip_units(out.units, kChunk / 4);
  }

  template <size_t kRows>
  static void multiply(const Packed& w, const Chunk* a, size_t n_values, float* acc) {
    Q6_KFormat::multiply<kRows>(w, a, n_values, acc);
  }
  template <size_t kRows>
  [[gnu::noinline]] static void multiply(const Expanded& w, const Chunk* a, size_t, float* acc) {
    I32x16 sum[kRows];
#pragma GCC unroll 8
    for (size_t r = 0; r < kRows; ++r) sum[r] = zero_i32();
    for (size_t s = 0; s < 16; ++s) {
      add_sub_block<kRows, 4, 63>(sum, w.sub_block(s, 0), w.scale(s), a, 16 * s, s / 2);
    }
    subtract_zero<kRows>(sum, w, a);
    const F32x16 d = w.scale_d();
#pragma GCC unroll 8
    for (size_t r = 0; r < kRows; ++r) {
      float* t = acc + r * kPanelRows;
      store(t, fma(to_f32(sum[r]), mul(d, broadcast(a[r].d)), load(t)));
    }
  }
};

// --- Q4_0 ---------------------------------------------------------------------------------------
struct ZippedA8 : ExpandedA8 {};

struct ZippedQ4_0Format : A8Format<PackedQ4_0> {
  using Generic = A8Format<PackedQ4_0>;
  using Expanded = ZippedA8;
  static void expand(const Packed& w, size_t n_values, Expanded& out) {
    Generic::expand(w, n_values, out);
    for (size_t b = 0; b < n_values / 32; ++b) zip_units(out.units[b][0], 8);  // both halves
  }

  template <size_t kRows>
  static void multiply(const Packed& w, const Chunk* a, size_t n_values, float* acc) {
    Generic::multiply<kRows>(w, a, n_values, acc);
  }
  template <size_t kRows>
  [[gnu::noinline]] static void multiply(const Expanded& w,
                                         const Chunk* a,
                                         size_t n_values,
                                         float* acc) {
    for (size_t b = 0; b < n_values / 32; ++b) {
      w.begin_block(b);
      I32x16 half[2][kRows];
      for (size_t h = 0; h < 2; ++h) {
        const int8_t* rows[kRows];
#pragma GCC unroll 8
        for (size_t r = 0; r < kRows; ++r) rows[r] = a[r].q + 32 * b + 16 * h;
        sum_bytes<kRows, 16>(w.units[b][h], rows, half[h]);
      }
      const F32x16 scale = w.scale(b);
#pragma GCC unroll 8
      for (size_t r = 0; r < kRows; ++r) {
        float* t = acc + r * kPanelRows;
        const I32x16 sum =
            fold_halves(broadcast_i32(-8 * a[r].sum[b]), half[0][r], half[1][r], &a[r].m[2 * b]);
        store(t, fma(to_f32(sum), mul(scale, broadcast(a[r].d[b])), load(t)));
      }
    }
  }
};

// --- Q8_0, Q4_1, Q5_0, Q5_1 ---------------------------------------------------------------------
// The pairs of int16 become bytes again, in the activations' order; eight units of a block's 16
// vectors of pairs remain.
struct ZippedA16 : ExpandedA16 {};

template <class Block>
struct ZippedA16Format : A16Format<Block> {
  using Generic = A16Format<Block>;
  using Chunk = A16Chunk;
  using Packed = typename Generic::Packed;
  using Expanded = ZippedA16;
  static void expand(const Packed& w, size_t n_values, Expanded& out) {
    Generic::expand(w, n_values, out);
    for (size_t b = 0; b < n_values / 32; ++b) {
      for (size_t g = 0; g < 8; ++g) {
        const I32x16 first = load_i32(out.pairs[b][2 * g]);
        const I32x16 second = load_i32(out.pairs[b][2 * g + 1]);
        store_i32(out.pairs[b][g], i32_quarters([&](int i) {
                    const int16x4_t low = vreinterpret_s16_s8(vmovn_s16(as_s16(first.q[i])));
                    const int16x4_t high = vreinterpret_s16_s8(vmovn_s16(as_s16(second.q[i])));
                    return from_s16(vcombine_s16(vzip1_s16(low, high), vzip2_s16(low, high)));
                  }));
      }
      zip_units(out.pairs[b], 8);
    }
  }

  template <size_t kRows>
  static void multiply(const Packed& w, const Chunk* a, size_t n_values, float* acc) {
    Generic::template multiply<kRows>(w, a, n_values, acc);
  }
  template <size_t kRows>
  [[gnu::noinline]] static void multiply(const Expanded& w,
                                         const Chunk* a,
                                         size_t n_values,
                                         float* acc) {
    for (size_t b = 0; b < n_values / 32; ++b) {
      w.next.fetch(b, kChunkBlocks);
      const int16_t* rows[kRows];
#pragma GCC unroll 8
      for (size_t r = 0; r < kRows; ++r) rows[r] = a[r].q + 32 * b;
      I32x16 sum[kRows];
      sum_words<kRows>(w.pairs[b], rows, sum);
      const F32x16 scale = w.scale(b);
#pragma GCC unroll 8
      for (size_t r = 0; r < kRows; ++r) {
        F32x16 t = load(acc + r * kPanelRows);
        t = fma(to_f32(sum[r]), mul(scale, broadcast(a[r].d[b])), t);
        if constexpr (Block::kWithOffset) t = fma(w.offset(b), broadcast(a[r].sum[b]), t);
        store(acc + r * kPanelRows, t);
      }
    }
  }
};

// --- The table ----------------------------------------------------------------------------------
template <class Format>
constexpr void use_format(Kernels& table, DType dtype) {
  for (FormatKernels& f : table.formats) {
    if (f.dtype != dtype) continue;
    f.matmul_scratch_bytes = matmul_scratch_bytes<Format>;
    f.matmul = matmul<Format>;
  }
}

constexpr Kernels make_i8mm_table(const char* name) {
  Kernels table = make_table(name);
  use_format<ZippedA16Format<Q8_0Block>>(table, DType::Q8_0);
  use_format<ZippedA16Format<Q4_1Block>>(table, DType::Q4_1);
  use_format<ZippedA16Format<Q5_0Block>>(table, DType::Q5_0);
  use_format<ZippedA16Format<Q5_1Block>>(table, DType::Q5_1);
  use_format<ZippedQ4_0Format>(table, DType::Q4_0);
  use_format<ZippedAffineFormat<false>>(table, DType::Q4_K);
  use_format<ZippedAffineFormat<true>>(table, DType::Q5_K);
  use_format<ZippedQ6_KFormat>(table, DType::Q6_K);
  return table;
}

}  // namespace
}  // namespace maglio

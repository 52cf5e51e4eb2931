// Products of Q4_K, Q5_K and Q6_K weights with int8 activations of class a8k. For each super-block
// of 256, in ascending order, exact in int32 (intermediate sums may wrap around):
//   Q4_K, Q5_K, sub-blocks s of 32:
//     I = sum_s sc_s * m_s * sum u * q         J = sum_s mn_s * half_sum_s
//     acc = fma((f32)I, dw * da, acc);  acc = fma(-(f32)J, dmin * (2 * da), acc)
//   Q6_K, sub-blocks t of 16:
//     I = sum_t sc_t * m_(t/2) * sum u * q  -  32 * sum_t sc_t * sum_t
//     acc = fma((f32)I, dw * da, acc)
// half_sum_s = (m_s * (the sum of q) + 1) >> 1 fits an int16, which m_s * (the sum of q) does not;
// the half unit lost is far below the rounding of the 32 values behind it. Ranges: Q5_K |I| <= 8 *
// 63 * 15 * 31 * 127 * 32 < 2^31; Q6_K |I| <= 256 * 128 * 15 * 32 * 127 < 2^31.
#pragma once

#include "kernels/generic/matmul_a8.inl"

namespace maglio {
namespace {

// A super-block made ready for many rows.
template <size_t kSubs, size_t kPairs>
struct ExpandedA8k {
  std::byte units[kChunk / 4 * kUnit];
  std::byte scales[kSubs][kUnit];  // as load_scales_s8
  std::byte pairs[kPairs][kUnit];  // Q4_K: minima, Q6_K: scales; of sub-blocks 2i and 2i + 1
  float scale[kPanelRows];
  float min[kPanelRows];
};

// sum + the products of kGroups consecutive groups with the units; each folded in time with
// `scale`.
template <size_t kRows, size_t kGroups, int kMaxU>
void add_sub_block(I32x16* sum,
                   const std::byte* units,
                   I32x16 scale,
                   const A8kChunk* a,
                   size_t value,
                   size_t m_i) {
  constexpr size_t kStep = fold_every(kMaxU) < kGroups ? fold_every(kMaxU) : kGroups;
  ByteSum part[kRows];
  for (size_t first = 0; first < kGroups; first += kStep) {
    const I32x16 first_unit = load_i32(units + first * kUnit);
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) {
      part[r] = first_dot_u8s8(first_unit, a[r].q + value + 4 * first);
    }
#pragma GCC unroll 16
    for (size_t g = first + 1; g < first + kStep; ++g) {
      const I32x16 unit = load_i32(units + g * kUnit);
#pragma GCC unroll 16
      for (size_t r = 0; r < kRows; ++r) {
        add_dot_u8s8(part[r], unit, a[r].q + value + 4 * g);
      }
    }
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) {
      sum[r] = fold(sum[r], part[r], mul_s16(scale, broadcast_load_i32(&a[r].m[m_i])));
    }
  }
}

inline const int16_t* pair_at(const int16_t* sums, size_t i) {
  return sums + 2 * i;
}

template <bool kFiveBits>
struct AffineFormat {
  using Chunk = A8kChunk;
  using Panel = AffinePanel<kFiveBits>;
  using Expanded = ExpandedA8k<8, 4>;
  static constexpr size_t kFusedRows = 2;
  static constexpr int kMaxU = kFiveBits ? 31 : 15;

  // use(first, second, g): group g of sub-blocks 2j and 2j + 1.
  template <class Use>
  static void each_unit(const std::byte* pair, Use use) {
    const I32x16 nibble = broadcast_i32(0x0f0f0f0f);
    const I32x16 fifth = broadcast_i32(0x10101010);
    I32x16 high0 = zero_i32();
    I32x16 high1 = zero_i32();
    if constexpr (kFiveBits) {
      prefetch(pair + kAhead);
      prefetch(pair + kUnit + kAhead);
      high0 = load_i32(pair);
      high1 = load_i32(pair + kUnit);
    }
    const std::byte* units = pair + Panel::kNibblesAt;
#pragma GCC unroll 16
    for (size_t g = 0; g < 8; ++g) {
      prefetch(units + g * kUnit + kAhead);
      const I32x16 unit = load_i32(units + g * kUnit);
      I32x16 first = bit_and(unit, nibble);
      I32x16 second = bit_and(shift_right<4>(unit), nibble);
      if constexpr (kFiveBits) {
        first = bit_or(
            first,
            bit_and(g < 4 ? shift_left_by(high0, 4 - g) : shift_right_by(high0, g - 4), fifth));
        second = bit_or(
            second,
            bit_and(g < 4 ? shift_left_by(high1, 4 - g) : shift_right_by(high1, g - 4), fifth));
      }
      use(first, second, g);
    }
  }

  // acc = acc + the super-block's I and J.
  static void add_chunk(
      I32x16 sum, I32x16 minima, F32x16 d, F32x16 dmin, const Chunk& a, float* acc) {
    F32x16 t = load(acc);
    t = fma(to_f32(sum), mul(d, broadcast(a.d)), t);
    t = fnma(to_f32(minima), mul(dmin, broadcast(2.0f * a.d)), t);
    store(acc, t);
  }

  template <size_t kRows>
  [[gnu::noinline]] static void multiply(const std::byte* chunk,
                                         const Chunk* a,
                                         size_t,
                                         float* acc) {
    constexpr size_t kStep = fold_every(kMaxU) < 8 ? fold_every(kMaxU) : 8;
    prefetch(chunk + kAhead);
    prefetch(chunk + kUnit + kAhead);
    prefetch(chunk + 2 * kUnit + kAhead);
    prefetch(chunk + 3 * kUnit + kAhead);
    prefetch(chunk + 4 * kUnit + kAhead);
    I32x16 sum[kRows];
    I32x16 minima[kRows];
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) sum[r] = minima[r] = zero_i32();
    for (size_t j = 0; j < 4; ++j) {
      const std::byte* sc = chunk + Panel::kScalesAt + 2 * j * kPanelRows;
      const std::byte* mn = chunk + Panel::kMinimaAt + 2 * j * kPanelRows;
      const I32x16 scale0 = load_scales_s8(sc);
      const I32x16 scale1 = load_scales_s8(sc + kPanelRows);
      const I32x16 mins = load_pairs_s8(mn, mn + kPanelRows);
#pragma GCC unroll 16
      for (size_t r = 0; r < kRows; ++r) {
        minima[r] = dot_s16(minima[r], mins, broadcast_load_i32(pair_at(a[r].half_sum, j)));
      }
      ByteSum part[kRows][2];
#pragma GCC unroll 16
      for (size_t r = 0; r < kRows; ++r) part[r][0] = part[r][1] = zero_byte_sum();
      each_unit(chunk + Panel::kPairsAt + j * Panel::kPairBytes, [&](I32x16 first, I32x16 second,
                                                                     size_t g) {
#pragma GCC unroll 16
        for (size_t r = 0; r < kRows; ++r) {
          const int8_t* q = a[r].q + 64 * j + 4 * g;
          add_dot_u8s8(part[r][0], first, q);
          add_dot_u8s8(part[r][1], second, q + 32);
          if ((g + 1) % kStep == 0) {
            sum[r] = fold(sum[r], part[r][0], mul_s16(scale0, broadcast_load_i32(&a[r].m[2 * j])));
            sum[r] =
                fold(sum[r], part[r][1], mul_s16(scale1, broadcast_load_i32(&a[r].m[2 * j + 1])));
            part[r][0] = part[r][1] = zero_byte_sum();
          }
        }
      });
    }
    const F32x16 d = load_half_row(chunk);
    const F32x16 dmin = load_half_row(chunk + Panel::kMinAt);
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) {
      add_chunk(sum[r], minima[r], d, dmin, a[r], acc + r * kPanelRows);
    }
  }

  [[gnu::noinline]] static void expand(const std::byte* chunk, size_t, Expanded& out) {
    for (size_t j = 0; j < 4; ++j) {
      std::byte* units = out.units + 16 * j * kUnit;
      each_unit(chunk + Panel::kPairsAt + j * Panel::kPairBytes,
                [&](I32x16 first, I32x16 second, size_t g) {
                  store_i32(units + g * kUnit, first);
                  store_i32(units + (8 + g) * kUnit, second);
                });
      const std::byte* sc = chunk + Panel::kScalesAt + 2 * j * kPanelRows;
      const std::byte* mn = chunk + Panel::kMinimaAt + 2 * j * kPanelRows;
      store_i32(out.scales[2 * j], load_scales_s8(sc));
      store_i32(out.scales[2 * j + 1], load_scales_s8(sc + kPanelRows));
      store_i32(out.pairs[j], load_pairs_s8(mn, mn + kPanelRows));
    }
    store(out.scale, load_half_row(chunk));
    store(out.min, load_half_row(chunk + Panel::kMinAt));
  }

  template <size_t kRows>
  [[gnu::noinline]] static void multiply(
      const Expanded& w, const Chunk* a, size_t, float* acc, Ahead next) {
    I32x16 sum[kRows];
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) sum[r] = zero_i32();
    for (size_t s = 0; s < 8; ++s) {
      next.fetch(s, 8);
      add_sub_block<kRows, 8, kMaxU>(sum, w.units + 8 * s * kUnit, load_i32(w.scales[s]), a, 32 * s,
                                     s);
    }
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) {
      I32x16 minima = zero_i32();
      for (size_t j = 0; j < 4; ++j) {
        minima =
            dot_s16(minima, load_i32(w.pairs[j]), broadcast_load_i32(pair_at(a[r].half_sum, j)));
      }
      add_chunk(sum[r], minima, load(w.scale), load(w.min), a[r], acc + r * kPanelRows);
    }
  }
};

struct Q6_KFormat {
  using Chunk = A8kChunk;
  using Panel = Q6_KPanel;
  using Expanded = ExpandedA8k<16, 8>;
  static constexpr size_t kFusedRows = kTileRows < 4 ? kTileRows : 4;

  // use(u0, u1, t): groups 2gp and 2gp + 1 of quarter t of the half, gp = step % 4.
  template <class Use>
  static void each_unit(const std::byte* units, Use use) {
    const I32x16 nibble = broadcast_i32(0x0f0f0f0f);
    const I32x16 high = broadcast_i32(0x30303030);
    for (size_t i = 0; i < 6; ++i) prefetch(units + i * kUnit + kAhead);
    const I32x16 a0 = load_i32(units);
    const I32x16 a1 = load_i32(units + kUnit);
    const I32x16 b0 = load_i32(units + 2 * kUnit);
    const I32x16 b1 = load_i32(units + 3 * kUnit);
    const I32x16 h0 = load_i32(units + 4 * kUnit);
    const I32x16 h1 = load_i32(units + 5 * kUnit);
    use(bit_or(bit_and(a0, nibble), bit_and(shift_left<4>(h0), high)),
        bit_or(bit_and(a1, nibble), bit_and(shift_left<4>(h1), high)), 0);
    use(bit_or(bit_and(b0, nibble), bit_and(shift_left<2>(h0), high)),
        bit_or(bit_and(b1, nibble), bit_and(shift_left<2>(h1), high)), 1);
    use(bit_or(bit_and(shift_right<4>(a0), nibble), bit_and(h0, high)),
        bit_or(bit_and(shift_right<4>(a1), nibble), bit_and(h1, high)), 2);
    use(bit_or(bit_and(shift_right<4>(b0), nibble), bit_and(shift_right<2>(h0), high)),
        bit_or(bit_and(shift_right<4>(b1), nibble), bit_and(shift_right<2>(h1), high)), 3);
  }

  static void add_chunk(I32x16 sum, I32x16 offset, F32x16 d, const Chunk& a, float* acc) {
    const I32x16 total = sub_i32(sum, shift_left<5>(offset));
    store(acc, fma(to_f32(total), mul(d, broadcast(a.d)), load(acc)));
  }

  template <size_t kRows>
  [[gnu::noinline]] static void multiply(const std::byte* chunk,
                                         const Chunk* a,
                                         size_t,
                                         float* acc) {
    const std::byte* sc = chunk + Panel::kScalesAt;
    for (size_t i = 0; i < 5; ++i) prefetch(chunk + i * kUnit + kAhead);
    I32x16 sum[kRows];
    I32x16 offset[kRows];
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) sum[r] = offset[r] = zero_i32();
    for (size_t i = 0; i < 8; ++i) {
      const I32x16 pairs = load_pairs_s8(sc + 2 * i * kPanelRows, sc + (2 * i + 1) * kPanelRows);
#pragma GCC unroll 16
      for (size_t r = 0; r < kRows; ++r) {
        offset[r] = dot_s16(offset[r], pairs, broadcast_load_i32(pair_at(a[r].sum, i)));
      }
    }
    for (size_t step = 0; step < 8; ++step) {
      each_unit(chunk + Panel::kUnitsAt + step * Panel::kStepBytes,
                [&](I32x16 u0, I32x16 u1, size_t t) {
                  const size_t s = 4 * (step / 4) + t;  // of 32 values
                  const I32x16 scale = load_scales_s8(sc + (2 * s + step % 4 / 2) * kPanelRows);
#pragma GCC unroll 16
                  for (size_t r = 0; r < kRows; ++r) {
                    const int8_t* q = a[r].q + 32 * s + 8 * (step % 4);
                    ByteSum part = first_dot_u8s8(u0, q);
                    add_dot_u8s8(part, u1, q + 4);
                    sum[r] = fold(sum[r], part, mul_s16(scale, broadcast_load_i32(&a[r].m[s])));
                  }
                });
    }
    const F32x16 d = load_half_row(chunk);
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) add_chunk(sum[r], offset[r], d, a[r], acc + r * kPanelRows);
  }

  [[gnu::noinline]] static void expand(const std::byte* chunk, size_t, Expanded& out) {
    const std::byte* sc = chunk + Panel::kScalesAt;
    for (size_t t = 0; t < 16; ++t) store_i32(out.scales[t], load_scales_s8(sc + t * kPanelRows));
    for (size_t i = 0; i < 8; ++i) {
      store_i32(out.pairs[i],
                load_pairs_s8(sc + 2 * i * kPanelRows, sc + (2 * i + 1) * kPanelRows));
    }
    for (size_t step = 0; step < 8; ++step) {
      each_unit(chunk + Panel::kUnitsAt + step * Panel::kStepBytes,
                [&](I32x16 u0, I32x16 u1, size_t t) {
                  const size_t g = 8 * (4 * (step / 4) + t) + 2 * (step % 4);
                  store_i32(out.units + g * kUnit, u0);
                  store_i32(out.units + (g + 1) * kUnit, u1);
                });
    }
    store(out.scale, load_half_row(chunk));
  }

  template <size_t kRows>
  [[gnu::noinline]] static void multiply(
      const Expanded& w, const Chunk* a, size_t, float* acc, Ahead next) {
    I32x16 sum[kRows];
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) sum[r] = zero_i32();
    for (size_t t = 0; t < 16; ++t) {
      next.fetch(t, 16);
      add_sub_block<kRows, 4, 63>(sum, w.units + 4 * t * kUnit, load_i32(w.scales[t]), a, 16 * t,
                                  t / 2);
    }
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) {
      I32x16 offset = zero_i32();
      for (size_t i = 0; i < 8; ++i) {
        offset = dot_s16(offset, load_i32(w.pairs[i]), broadcast_load_i32(pair_at(a[r].sum, i)));
      }
      add_chunk(sum[r], offset, load(w.scale), a[r], acc + r * kPanelRows);
    }
  }
};

}  // namespace
}  // namespace maglio

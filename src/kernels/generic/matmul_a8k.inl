// Products of Q4_K, Q5_K and Q6_K weights with int8 activations of class a8k. For each super-block
// of 256, in ascending order, exact in int32 (intermediate sums may wrap around):
//   Q4_K, Q5_K, sub-blocks s of 32:
//     I = sum_s sc_s * m_s * sum u * q         J = sum_s mn_s * half_sum_s
//     acc = fma((f32)I, dw * da, acc);  acc = fma(-(f32)J, dmin * (2 * da), acc)
//   Q6_K, sub-blocks t of 16:
//     I = sum_t sc_t * m_(t/2) * (sum u * q  -  32 * sum q)
//     acc = fma((f32)I, dw * da, acc)
// half_sum_s = (m_s * (the sum of q) + 1) >> 1 fits an int16, which m_s * (the sum of q) does not;
// the half unit lost is far below the rounding of the 32 values behind it. Ranges: Q5_K |I| <= 8 *
// 63 * 15 * 31 * 127 * 32 < 2^31; Q6_K |I| <= 256 * 128 * 15 * 32 * 127 < 2^31.
#pragma once

#include "kernels/generic/matmul_a8.inl"

namespace maglio {
namespace {

// The bits at position `from` of each dword moved to position `to`; both are constants where this
// is inlined.
[[gnu::always_inline]] inline I32x16 move_bits(I32x16 x, size_t from, size_t to) {
  if (from == to) return x;
  return from < to ? shift_left_by(x, to - from) : shift_right_by(x, from - to);
}

// Calls use(s, i) for each sub-block s; i = s modulo the period in which the layout of the weights
// repeats, a constant where `use` is inlined, because it decides shifts.
template <class Weights, size_t kSubs, class Use>
[[gnu::always_inline]] inline void each_sub_block(Use use) {
  for (size_t s = 0; s < kSubs; s += Weights::kPeriod) {
#pragma GCC unroll 8
    for (size_t i = 0; i < Weights::kPeriod; ++i) use(s + i, i);
  }
}

// A super-block made ready for many rows.
template <size_t kSubs, size_t kPairs>
struct ExpandedA8k {
  std::byte units[kChunk / 4][kUnit];
  std::byte scales[kSubs][kUnit];  // as load_scales_s8
  std::byte pairs[kPairs][kUnit];  // Q4_K: minima, Q6_K: scales; of sub-blocks 2i and 2i + 1
  float d[kPanelRows];
  float dmin[kPanelRows];
  Ahead next;

  static constexpr size_t kPeriod = kWideSums ? 2 : 1;  // Q6_K's wide sums ask s % 2
  struct SubBlock {
    const std::byte (*units)[kUnit];
    I32x16 unit(size_t g) const { return load_i32(units[g]); }
  };
  SubBlock sub_block(size_t s, size_t) const {
    next.fetch(s, kSubs);
    return {units + s * (kChunk / 4 / kSubs)};
  }
  I32x16 scale(size_t s) const { return load_i32(scales[s]); }
  I32x16 pair(size_t i) const { return load_i32(pairs[i]); }
  F32x16 scale_d() const { return load(d); }
  F32x16 scale_dmin() const { return load(dmin); }
};

template <class Packed, class Expanded, size_t kSubs, size_t kPairs>
void expand_a8k(const Packed& w, Expanded& out) {
  constexpr size_t kGroups = kChunk / 4 / kSubs;
  each_sub_block<Packed, kSubs>([&](size_t s, size_t i) {
    const auto sub = w.sub_block(s, i);
#pragma GCC unroll 8
    for (size_t g = 0; g < kGroups; ++g) store_i32(out.units[kGroups * s + g], sub.unit(g));
    store_i32(out.scales[s], w.scale(s));
  });
  for (size_t i = 0; i < kPairs; ++i) store_i32(out.pairs[i], w.pair(i));
  store(out.d, w.scale_d());
}

// sum[r] + the products of kGroups groups of a sub-block with q (+ 4g for group g), each folded in
// time with `scale` times the row's m.
template <size_t kRows, size_t kGroups, int kMaxU, class SubBlock>
[[gnu::always_inline]] inline void add_sub_block(
    I32x16* sum, const SubBlock& w, I32x16 scale, const A8kChunk* a, size_t value, size_t m_i) {
  constexpr size_t kStep = fold_every(kMaxU) < kGroups ? fold_every(kMaxU) : kGroups;
#pragma GCC unroll 8
  for (size_t first = 0; first < kGroups; first += kStep) {
    ByteSum part[kRows];
#pragma GCC unroll 8
    for (size_t g = first; g < first + kStep; ++g) {
      const I32x16 unit = w.unit(g);
#pragma GCC unroll 16
      for (size_t r = 0; r < kRows; ++r) {
        const int8_t* q = a[r].q + value + 4 * g;
        if (g == first) {
          part[r] = first_dot_u8s8(unit, q);
        } else {
          add_dot_u8s8(part[r], unit, q);
        }
      }
    }
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) {
      sum[r] = fold(sum[r], part[r], mul_scales(scale, &a[r].m[m_i]));
    }
  }
}

inline const int16_t* pair_at(const int16_t* sums, size_t i) {
  return sums + 2 * i;
}

// A super-block of Q4_K or Q5_K as it lies in the panel.
template <bool kFiveBits>
struct PackedAffine {
  using Panel = AffinePanel<kFiveBits>;
  const std::byte* chunk;

  // Even sub-blocks lie in the low nibbles, odd ones in the high nibbles of the same units.
  struct SubBlock {
    const std::byte* units;
    size_t upper;  // 0 or 1
    I32x16 fifths;

    I32x16 unit(size_t g) const {
      if (upper == 0) prefetch(units + g * kUnit + kAhead);
      const I32x16 nibbles = load_i32(units + g * kUnit);
      const I32x16 low = upper == 0 ? nibbles : shift_right<4>(nibbles);
      const I32x16 nibble = broadcast_i32(0x0f0f0f0f);
      if constexpr (!kFiveBits) return bit_and(low, nibble);
      const I32x16 high = bit_and(move_bits(fifths, g, 4), broadcast_i32(0x10101010));
      return and_or(low, nibble, high);
    }
  };
  static constexpr size_t kPeriod = 2;
  SubBlock sub_block(size_t s, size_t i) const {
    const std::byte* pair = chunk + Panel::kPairsAt + s / 2 * Panel::kPairBytes;
    SubBlock sub{pair + Panel::kNibblesAt, i, {}};
    if constexpr (kFiveBits) {
      prefetch(pair + i * kUnit + kAhead);
      sub.fifths = load_i32(pair + i * kUnit);
    }
    return sub;
  }
  I32x16 scale(size_t s) const {
    if (s < 5) prefetch(chunk + s * kUnit + kAhead);  // the five lines in front of the units
    return load_scales_s8(chunk + Panel::kScalesAt + s * kPanelRows);
  }
  I32x16 pair(size_t i) const {
    const std::byte* mn = chunk + Panel::kMinimaAt + 2 * i * kPanelRows;
    return load_pairs_s8(mn, mn + kPanelRows);
  }
  F32x16 scale_d() const { return load_half_row(chunk); }
  F32x16 scale_dmin() const { return load_half_row(chunk + Panel::kMinAt); }
};

template <bool kFiveBits>
struct AffineFormat {
  using Chunk = A8kChunk;
  using Panel = AffinePanel<kFiveBits>;
  using Packed = PackedAffine<kFiveBits>;
  using Expanded = ExpandedA8k<8, 4>;
  static constexpr size_t kPackedRows = kFreeUnpacking ? kAnyRows : 2;
  static constexpr int kMaxU = kFiveBits ? 31 : 15;
  static constexpr size_t kTile = kTileRows;

  // acc: [kRows][16]; a: kRows records; w: PackedAffine or ExpandedA8k
  template <size_t kRows, class Weights>
  [[gnu::noinline]] static void multiply(const Weights& w, const Chunk* a, size_t, float* acc) {
    I32x16 sum[kRows];
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) sum[r] = zero_i32();
    each_sub_block<Weights, 8>([&](size_t s, size_t i) {
      add_sub_block<kRows, 8, kMaxU>(sum, w.sub_block(s, i), w.scale(s), a, 32 * s, s);
    });
    I32x16 mins[4];
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; ++j) mins[j] = w.pair(j);
    const F32x16 d = w.scale_d();
    const F32x16 dmin = w.scale_dmin();
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) {
      I32x16 minima = zero_i32();
#pragma GCC unroll 4
      for (size_t j = 0; j < 4; ++j) add_dot_s16(minima, mins[j], pair_at(a[r].half_sum, j));
      F32x16 t = load(acc + r * kPanelRows);
      t = fma(to_f32(sum[r]), mul(d, broadcast(a[r].d)), t);
      t = fnma(to_f32(minima), mul(dmin, broadcast(2.0f * a[r].d)), t);
      store(acc + r * kPanelRows, t);
    }
  }

  [[gnu::noinline]] static void expand(const Packed& w, size_t, Expanded& out) {
    expand_a8k<Packed, Expanded, 8, 4>(w, out);
    store(out.dmin, w.scale_dmin());
  }
};

// A super-block of Q6_K as it lies in the panel.
struct PackedQ6_K {
  using Panel = Q6_KPanel;
  const std::byte* chunk;

  // Sub-block i of the four that share a step (panel.inl).
  struct SubBlock {
    const std::byte* step;
    size_t i;

    I32x16 unit(size_t g) const {
      const std::byte* high_at = step + g * kUnit;
      const std::byte* low_at = step + (4 + i / 2 * 4 + g) * kUnit;
      if (i == 0) prefetch(high_at + kAhead);
      if (i % 2 == 0) prefetch(low_at + kAhead);
      const I32x16 nibbles = load_i32(low_at);
      const I32x16 low = i % 2 == 0 ? nibbles : shift_right<4>(nibbles);
      const I32x16 high =
          bit_and(move_bits(load_i32(high_at), 2 * i, 4), broadcast_i32(0x30303030));
      return and_or(low, broadcast_i32(0x0f0f0f0f), high);
    }
  };
  static constexpr size_t kPeriod = 4;
  SubBlock sub_block(size_t s, size_t i) const {
    return {chunk + Panel::kUnitsAt + s / 4 * Panel::kStepBytes, i};
  }
  I32x16 scale(size_t s) const {
    if (s < 5) prefetch(chunk + s * kUnit + kAhead);  // the five lines in front of the units
    return load_scales_s8(chunk + Panel::kScalesAt + s * kPanelRows);
  }
  I32x16 pair(size_t i) const {
    const std::byte* sc = chunk + Panel::kScalesAt + 2 * i * kPanelRows;
    return load_pairs_s8(sc, sc + kPanelRows);
  }
  F32x16 scale_d() const { return load_half_row(chunk); }
};

struct Q6_KFormat {
  using Chunk = A8kChunk;
  using Panel = Q6_KPanel;
  using Packed = PackedQ6_K;
  using Expanded = ExpandedA8k<16, 8>;
  static constexpr size_t kPackedRows = kFreeUnpacking ? 16 : 4;
  static constexpr size_t kTile = kWideSums && kTileRows > 8 ? 8 : kTileRows;  // three sums a row

  // Where sums are int32: each starts at -32 times its sum of q, and sub-blocks s - 1 and s meet
  // their common m together. scaled: the first one's part
  template <size_t kRows, class Weights>
  [[gnu::always_inline]] static void add_wide(
      I32x16* sum, I32x16* scaled, const Weights& w, size_t s, size_t i, const Chunk* a) {
    const auto sub = w.sub_block(s, i);
    I32x16 part[kRows];
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) part[r] = broadcast_load_i32(&a[r].zero[s]);
#pragma GCC unroll 4
    for (size_t g = 0; g < 4; ++g) {
      const I32x16 unit = sub.unit(g);
#pragma GCC unroll 16
      for (size_t r = 0; r < kRows; ++r) add_dot_u8s8(part[r], unit, a[r].q + 16 * s + 4 * g);
    }
    const I32x16 scale = w.scale(s);
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) {
      if (s % 2 == 0) {
        scaled[r] = fold(zero_i32(), part[r], scale);
      } else {
        sum[r] = add_i32(sum[r], mul_scales(fold(scaled[r], part[r], scale), &a[r].m[s / 2]));
      }
    }
  }

  // Where sums are int16: 32 times the scaled sums of q, for all sub-blocks at the end.
  template <size_t kRows, class Weights>
  static void subtract_zero(I32x16* sum, const Weights& w, const Chunk* a) {
    I32x16 scales[8];
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; ++i) scales[i] = w.pair(i);
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) {
      I32x16 offset = zero_i32();
#pragma GCC unroll 8
      for (size_t i = 0; i < 8; ++i) add_dot_s16(offset, scales[i], pair_at(a[r].sum, i));
      sum[r] = sub_i32(sum[r], shift_left<5>(offset));
    }
  }

  // acc: [kRows][16]; a: kRows records; w: PackedQ6_K or ExpandedA8k
  template <size_t kRows, class Weights>
  [[gnu::noinline]] static void multiply(const Weights& w, const Chunk* a, size_t, float* acc) {
    I32x16 sum[kRows];
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) sum[r] = zero_i32();
    [[maybe_unused]] I32x16 scaled[kRows];
    each_sub_block<Weights, 16>([&](size_t s, size_t i) {
      if constexpr (kWideSums) {
        add_wide<kRows>(sum, scaled, w, s, i, a);
      } else {
        add_sub_block<kRows, 4, 63>(sum, w.sub_block(s, i), w.scale(s), a, 16 * s, s / 2);
      }
    });
    if constexpr (!kWideSums) subtract_zero<kRows>(sum, w, a);
    const F32x16 d = w.scale_d();
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) {
      float* t = acc + r * kPanelRows;
      store(t, fma(to_f32(sum[r]), mul(d, broadcast(a[r].d)), load(t)));
    }
  }

  [[gnu::noinline]] static void expand(const Packed& w, size_t, Expanded& out) {
    expand_a8k<Packed, Expanded, 16, 8>(w, out);
  }
};

}  // namespace
}  // namespace maglio

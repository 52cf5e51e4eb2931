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

#include "kernels/generic/panel.inl"

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

// The products of kGroups groups of a sub-block, from group `first` on, with q (+ 4g for group g).
template <size_t kGroups, size_t kRows, class SubBlock>
[[gnu::always_inline]] inline void dot_groups(
    ByteSum (&part)[kRows], const SubBlock& w, size_t first, const A8kChunk* a, size_t value) {
#pragma GCC unroll 8
  for (size_t g = first; g < first + kGroups; ++g) {
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
    dot_groups<kStep>(part, w, first, a, value);
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) {
      sum[r] = fold(sum[r], part[r], mul_scales(scale, &a[r].m[m_i]));
    }
  }
}

// The same for a pair of sub-blocks of eight groups, s and s + 1, whose scales are not negative:
// one multiplication makes the factors of both. Products of every kind share two ports of a Zen 4
// core: 83 of them for 64 of bytes instead of 87 made Q4_K 10 % and Q5_K 7 % faster.
template <size_t kRows, class Weights>
[[gnu::always_inline]] inline void add_sub_block_pair(I32x16* sum,
                                                      const Weights& w,
                                                      size_t s,
                                                      const A8kChunk* a) {
  constexpr size_t kGroups = 8;
  const auto scales = w.scale_pair(s / 2);
  I32x16 factors[kRows];
#pragma GCC unroll 2
  for (size_t i = 0; i < 2; ++i) {
    ByteSum part[kRows];
    dot_groups<kGroups>(part, w.sub_block(s + i, i), 0, a, 4 * kGroups * (s + i));
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) {
      if (i == 0) factors[r] = mul_scale_pair(scales, &a[r].m[s]);
      const I32x16 factor =
          i == 0 ? bit_and(factors[r], broadcast_i32(0xffff)) : shift_right<16>(factors[r]);
      sum[r] = fold(sum[r], part[r], factor);
    }
  }
}

inline const int16_t* pair_at(const int16_t* sums, size_t i) {
  return sums + 2 * i;
}

}  // namespace
}  // namespace maglio

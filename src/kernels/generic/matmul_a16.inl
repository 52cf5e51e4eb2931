// Products of Q8_0, Q4_1, Q5_0 and Q5_1 weights with int16 activations. For each block of 32, in
// ascending order:
//   I = the sum of w * q (exact int32; Q5_0 with its 16 subtracted from w)
//   acc = fma((f32)I, dw * da, acc)
//   Q4_1, Q5_1:  acc = fma(mw, sum_a, acc)      sum_a = (f32)(the sum of q) * da
// |I| <= 32 * 128 * 32767 < 2^27.
#pragma once

#include "kernels/generic/matmul_f32.inl"

namespace maglio {
namespace {

// Each of these calls use(pairs, i) for the 16 pairs-of-int16 vectors of a block, in any order; i
// is the dword of the activations' q (A16Chunk) that belongs to them.
//
// kFusedRows: up to so many rows, reading the packed bytes directly is faster than expanding them
// first (bench_matmul on a Zen 4, 3 and 4 rows).
struct Q8_0Bits {
  using Panel = Q8_0Panel;
  static constexpr size_t kFusedRows = 4;
  static constexpr bool kWithOffset = false;
  template <class Use>
  static void each_pair(const std::byte* units, Use use) {
#pragma GCC unroll 2
    for (size_t g = 0; g < 8; ++g) {
      prefetch(units + g * kUnit + kAhead);
      const I32x16 unit = load_i32(units + g * kUnit);
      use(even_s8(unit), 2 * g);
      use(odd_s8(unit), 2 * g + 1);
    }
  }
};

struct Q4_1Bits {
  using Panel = Q4_1Panel;
  static constexpr size_t kFusedRows = 4;
  static constexpr bool kWithOffset = true;
  template <class Use>
  static void each_pair(const std::byte* units, Use use) {
    const I32x16 nibble = broadcast_i32(0x000f000f);
#pragma GCC unroll 2
    for (size_t g = 0; g < 4; ++g) {
      prefetch(units + g * kUnit + kAhead);
      const I32x16 unit = load_i32(units + g * kUnit);
      use(bit_and(unit, nibble), 2 * g);
      use(bit_and(shift_right<8>(unit), nibble), 2 * g + 1);
      use(bit_and(shift_right<4>(unit), nibble), 2 * (g + 4));
      use(bit_and(shift_right<12>(unit), nibble), 2 * (g + 4) + 1);
    }
  }
};

// The fifth bit of byte j of group g is bit g of byte j of `high`.
template <class PanelOf, bool kOffset, int kZero>
struct FiveBits {
  using Panel = PanelOf;
  static constexpr size_t kFusedRows = 2;
  static constexpr bool kWithOffset = kOffset;
  template <class Use>
  static void each_pair(const std::byte* units, Use use) {
    const I32x16 nibble = broadcast_i32(0x0f0f0f0f);
    const I32x16 one = broadcast_i32(0x01010101);
    I32x16 low_groups = load_i32(units);  // bit 0 of each byte: group g, next g + 1, ...
    I32x16 high_groups = shift_right<4>(low_groups);
    prefetch(units + kAhead);
#pragma GCC unroll 2
    for (size_t g = 0; g < 4; ++g) {
      const std::byte* at = units + (g + 1) * kUnit;
      prefetch(at + kAhead);
      const I32x16 unit = load_i32(at);
      const I32x16 low = bit_or(bit_and(unit, nibble), shift_left<4>(bit_and(low_groups, one)));
      const I32x16 high =
          bit_or(bit_and(shift_right<4>(unit), nibble), shift_left<4>(bit_and(high_groups, one)));
      use(sub_s16(even_u8(low), kZero), 2 * g);
      use(sub_s16(odd_u8(low), kZero), 2 * g + 1);
      use(sub_s16(even_u8(high), kZero), 2 * (g + 4));
      use(sub_s16(odd_u8(high), kZero), 2 * (g + 4) + 1);
      low_groups = shift_right<1>(low_groups);
      high_groups = shift_right<1>(high_groups);
    }
  }
};
using Q5_0Bits = FiveBits<Q5_0Panel, false, 16>;
using Q5_1Bits = FiveBits<Q5_1Panel, true, 0>;

// A chunk made ready for many rows: 16 vectors of pairs a block, scales and offsets in f32.
struct ExpandedA16 {
  std::byte pairs[kChunkBlocks][16 * kUnit];
  float scale[kChunkBlocks][kPanelRows];
  float offset[kChunkBlocks][kPanelRows];
};

inline F32x16 load_half_row(const std::byte* p) {
  return load_half(reinterpret_cast<const uint16_t*>(p));
}

template <class Bits>
struct A16Format {
  using Chunk = A16Chunk;
  using Panel = typename Bits::Panel;
  using Expanded = ExpandedA16;
  static constexpr size_t kFusedRows = Bits::kFusedRows < kTileRows ? Bits::kFusedRows : kTileRows;

  // acc = acc + the block's sums; sum: [kRows]
  template <size_t kRows>
  static void add_block(
      const I32x16* sum, F32x16 scale, F32x16 offset, const Chunk* a, size_t b, float* acc) {
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) {
      F32x16 t = load(acc + r * kPanelRows);
      t = fma(to_f32(sum[r]), mul(scale, broadcast(a[r].d[b])), t);
      if constexpr (Bits::kWithOffset) t = fma(offset, broadcast(a[r].sum[b]), t);
      store(acc + r * kPanelRows, t);
    }
  }

  template <size_t kRows>
  [[gnu::noinline]] static void multiply(const std::byte* chunk,
                                         const Chunk* a,
                                         size_t n_values,
                                         float* acc) {
    const size_t n = n_values / 32;
    for (size_t b = 0; b < n; ++b) {
      prefetch(chunk + Panel::scale_at(b) + kAhead);
      I32x16 sum[kRows];
#pragma GCC unroll 16
      for (size_t r = 0; r < kRows; ++r) sum[r] = zero_i32();
      Bits::each_pair(chunk + Panel::block_at(b), [&](I32x16 pairs, size_t i) {
#pragma GCC unroll 16
        for (size_t r = 0; r < kRows; ++r) {
          add_dot_s16(sum[r], pairs, a[r].q + 32 * b + 2 * i);
        }
      });
      const F32x16 scale = load_half_row(chunk + Panel::scale_at(b));
      F32x16 offset = zero_f32();
      if constexpr (Bits::kWithOffset) offset = load_half_row(chunk + Panel::offset_at(b));
      add_block<kRows>(sum, scale, offset, a, b, acc);
    }
  }

  [[gnu::noinline]] static void expand(const std::byte* chunk, size_t n_values, Expanded& out) {
    const size_t n = n_values / 32;
    for (size_t b = 0; b < n; ++b) {
      Bits::each_pair(chunk + Panel::block_at(b),
                      [&](I32x16 pairs, size_t i) { store_i32(out.pairs[b] + i * kUnit, pairs); });
      store(out.scale[b], load_half_row(chunk + Panel::scale_at(b)));
      if constexpr (Bits::kWithOffset) {
        store(out.offset[b], load_half_row(chunk + Panel::offset_at(b)));
      }
    }
  }

  template <size_t kRows>
  [[gnu::noinline]] static void multiply(
      const Expanded& w, const Chunk* a, size_t n_values, float* acc, Ahead next) {
    for (size_t b = 0; b < n_values / 32; ++b) {
      next.fetch(b, kChunkBlocks);
      I32x16 sum[kRows];
#pragma GCC unroll 16
      for (size_t r = 0; r < kRows; ++r) sum[r] = zero_i32();
#pragma GCC unroll 2
      for (size_t i = 0; i < 16; ++i) {
        const I32x16 pairs = load_i32(w.pairs[b] + i * kUnit);
#pragma GCC unroll 16
        for (size_t r = 0; r < kRows; ++r) {
          add_dot_s16(sum[r], pairs, a[r].q + 32 * b + 2 * i);
        }
      }
      add_block<kRows>(sum, load(w.scale[b]), load(w.offset[b]), a, b, acc);
    }
  }
};

}  // namespace
}  // namespace maglio

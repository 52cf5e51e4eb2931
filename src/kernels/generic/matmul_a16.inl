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

// A block as it lies in the panel, one struct a format. It is read in kSteps steps (a loop) of
// kVectors vectors each (unrolled): pairs(v) gives pairs of int16, and dword(g, v) the dword of the
// activations' q (A16Chunk) that belongs to them.
struct Q8_0Block {
  using Panel = Q8_0Panel;
  static constexpr bool kWithOffset = false;
  static constexpr size_t kPackedRows = kFreeUnpacking ? kAnyRows : 4;
  static constexpr size_t kSteps = 8;
  static constexpr size_t kVectors = 2;
  const std::byte* units;

  struct Step {
    I32x16 unit;
    I32x16 pairs(size_t v) const { return v == 0 ? even_s8(unit) : odd_s8(unit); }
  };
  Step step(size_t g) const {
    prefetch(units + g * kUnit + kAhead);
    return {load_i32(units + g * kUnit)};
  }
  static constexpr size_t dword(size_t g, size_t v) { return 2 * g + v; }
};

// Four-bit values: group g in the low nibbles of unit g, group g + 4 in the high ones.
struct Q4_1Block {
  using Panel = Q4_1Panel;
  static constexpr bool kWithOffset = true;
  static constexpr size_t kPackedRows = kFreeUnpacking ? kAnyRows : 4;
  static constexpr size_t kSteps = 4;
  static constexpr size_t kVectors = 4;
  const std::byte* units;

  struct Step {
    I32x16 unit;
    I32x16 pairs(size_t v) const {
      const I32x16 moved = v == 0   ? unit
                           : v == 1 ? shift_right<8>(unit)
                           : v == 2 ? shift_right<4>(unit)
                                    : shift_right<12>(unit);
      return bit_and(moved, broadcast_i32(0x000f000f));
    }
  };
  Step step(size_t g) const {
    prefetch(units + g * kUnit + kAhead);
    return {load_i32(units + g * kUnit)};
  }
  static constexpr size_t dword(size_t g, size_t v) { return 2 * (g + v / 2 * 4) + v % 2; }
};

// The fifth bit of byte j of group g is bit g of byte j of the first unit.
template <class PanelOf, bool kOffset, int kZero>
struct FiveBitsBlock {
  using Panel = PanelOf;
  static constexpr bool kWithOffset = kOffset;
  static constexpr size_t kPackedRows = kFreeUnpacking ? 16 : 2;
  static constexpr size_t kSteps = 4;
  static constexpr size_t kVectors = 4;
  const std::byte* units;

  struct Step {
    I32x16 unit;
    I32x16 fifths;  // bit 0 of each byte: group g; bit 4: group g + 4
    I32x16 pairs(size_t v) const {
      const I32x16 low = v < 2 ? unit : shift_right<4>(unit);
      const I32x16 high =
          bit_and(v < 2 ? shift_left<4>(fifths) : fifths, broadcast_i32(0x10101010));
      const I32x16 bytes = and_or(low, broadcast_i32(0x0f0f0f0f), high);
      return sub_s16(v % 2 == 0 ? even_u8(bytes) : odd_u8(bytes), kZero);
    }
  };
  Step step(size_t g) const {
    const std::byte* at = units + (g + 1) * kUnit;
    if (g == 0) prefetch(units + kAhead);
    prefetch(at + kAhead);
    return {load_i32(at), shift_right_by(load_i32(units), g)};
  }
  static constexpr size_t dword(size_t g, size_t v) { return Q4_1Block::dword(g, v); }
};
using Q5_0Block = FiveBitsBlock<Q5_0Panel, false, 16>;
using Q5_1Block = FiveBitsBlock<Q5_1Panel, true, 0>;

inline F32x16 load_half_row(const std::byte* p) {
  return load_half(reinterpret_cast<const uint16_t*>(p));
}

// A chunk of a panel, read as it lies.
template <class Block>
struct PackedA16 {
  using Panel = typename Block::Panel;
  const std::byte* chunk;

  Block block(size_t b) const {
    prefetch(chunk + Panel::scale_at(b) + kAhead);
    return {chunk + Panel::block_at(b)};
  }
  F32x16 scale(size_t b) const { return load_half_row(chunk + Panel::scale_at(b)); }
  F32x16 offset(size_t b) const { return load_half_row(chunk + Panel::offset_at(b)); }
};

// A chunk made ready for many rows: 16 vectors of pairs a block, scales and offsets in f32.
struct ExpandedA16 {
  std::byte pairs[kChunkBlocks][16][kUnit];
  float scales[kChunkBlocks][kPanelRows];
  float offsets[kChunkBlocks][kPanelRows];
  Ahead next;

  struct Block {
    static constexpr size_t kSteps = 8;
    static constexpr size_t kVectors = 2;
    const std::byte (*all)[kUnit];

    struct Step {
      const std::byte (*two)[kUnit];
      I32x16 pairs(size_t v) const { return load_i32(two[v]); }
    };
    Step step(size_t g) const { return {all + 2 * g}; }
    static constexpr size_t dword(size_t g, size_t v) { return 2 * g + v; }
  };
  Block block(size_t b) const {
    next.fetch(b, kChunkBlocks);
    return {pairs[b]};
  }
  F32x16 scale(size_t b) const { return load(scales[b]); }
  F32x16 offset(size_t b) const { return load(offsets[b]); }
};

template <class Block>
struct A16Format {
  using Chunk = A16Chunk;
  using Panel = typename Block::Panel;
  using Packed = PackedA16<Block>;
  using Expanded = ExpandedA16;
  static constexpr size_t kPackedRows = Block::kPackedRows;
  static constexpr size_t kTile = kTileRows;

  // acc: [kRows][16]; a: kRows records; w: PackedA16 or ExpandedA16
  template <size_t kRows, class Weights>
  [[gnu::noinline]] static void multiply(const Weights& w,
                                         const Chunk* a,
                                         size_t n_values,
                                         float* acc) {
    for (size_t b = 0; b < n_values / 32; ++b) {
      const auto block = w.block(b);
      I32x16 sum[kRows];
#pragma GCC unroll 16
      for (size_t r = 0; r < kRows; ++r) sum[r] = zero_i32();
      for (size_t g = 0; g < block.kSteps; ++g) {
        const auto step = block.step(g);
#pragma GCC unroll 4
        for (size_t v = 0; v < block.kVectors; ++v) {
          const I32x16 pairs = step.pairs(v);
          const size_t i = 32 * b + 2 * block.dword(g, v);
#pragma GCC unroll 16
          for (size_t r = 0; r < kRows; ++r) add_dot_s16(sum[r], pairs, a[r].q + i);
        }
      }
      const F32x16 scale = w.scale(b);
#pragma GCC unroll 16
      for (size_t r = 0; r < kRows; ++r) {
        F32x16 t = load(acc + r * kPanelRows);
        t = fma(to_f32(sum[r]), mul(scale, broadcast(a[r].d[b])), t);
        if constexpr (Block::kWithOffset) t = fma(w.offset(b), broadcast(a[r].sum[b]), t);
        store(acc + r * kPanelRows, t);
      }
    }
  }

  [[gnu::noinline]] static void expand(const Packed& w, size_t n_values, Expanded& out) {
    for (size_t b = 0; b < n_values / 32; ++b) {
      const Block block = w.block(b);
      for (size_t g = 0; g < Block::kSteps; ++g) {
        const auto step = block.step(g);
#pragma GCC unroll 4
        for (size_t v = 0; v < Block::kVectors; ++v) {
          store_i32(out.pairs[b][Block::dword(g, v)], step.pairs(v));
        }
      }
      store(out.scales[b], w.scale(b));
      if constexpr (Block::kWithOffset) store(out.offsets[b], w.offset(b));
    }
  }
};

}  // namespace
}  // namespace maglio

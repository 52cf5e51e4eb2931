// Products of Q8_0, Q4_1, Q5_0, Q5_1 and BF16 weights with int16 activations. For each block of 32,
// in ascending order:
//   I = the sum of w * q (exact int32; Q5_0 with its 16 subtracted from w)
//   acc = fma((f32)I, dw * da, acc)
//   Q4_1, Q5_1:  acc = fma(mw, sum_a, acc)      sum_a = (f32)(the sum of q) * da
// |I| <= 32 * 128 * 32767 < 2^27 (BF16: formats/bf16.inl).
#pragma once

#include "kernels/generic/panel.inl"

namespace maglio {
namespace {

// A chunk of a panel, read as it lies. Block is the format's: it is read in kSteps steps (a loop)
// of kVectors vectors each (unrolled); pairs(v) of a step gives pairs of int16, and dword(g, v) the
// dword of the activations' q (A16Chunk) that belongs to them.
template <class Block>
struct PackedA16 {
  using Panel = typename Block::Panel;
  const std::byte* chunk;
  Ahead next = {};

  Block block(size_t b) const {
    next.fetch(b, kChunkBlocks);
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

template <class Block, class PackedChunk = PackedA16<Block>>
struct A16Format {
  using Chunk = A16Chunk;
  using Panel = typename Block::Panel;
  using Packed = PackedChunk;
  using Expanded = ExpandedA16;
  static constexpr size_t kPackedRows = Block::kPackedRows;
  static constexpr size_t kTile = kTileRows;

  // acc: [kRows][16]; a: kRows records; w: Packed or Expanded
  template <size_t kRows, class Weights>
  [[gnu::noinline]] static void multiply(const Weights& w,
                                         const Chunk* a,
                                         size_t n_values,
                                         float* acc) {
    for (size_t b = 0; b < blocks_of(n_values); ++b) {
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
    for (size_t b = 0; b < blocks_of(n_values); ++b) {
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

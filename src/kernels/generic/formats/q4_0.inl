// Q4_0: blocks of 32 four-bit integers with one f16 scale, zero at 8 (quant/blocks.h).
#pragma once

#include "kernels/generic/matmul_a8.inl"
#include "kernels/generic/pack.inl"
#include "kernels/generic/unpack.inl"

namespace maglio {
namespace {

// --- Layout ------------------------------------------------------------------------------------

// Units of a block: 4, low nibble group g, high nibble group g + 4.
using Q4_0Panel = SmallPanel<false, 4 * kUnit>;

// --- Packing and unpacking ---------------------------------------------------------------------

inline void pack_block(BlockQ4_0, const PanelRows& blocks, size_t b, std::byte* chunk) {
  pack_nibbles<Q4_0Panel, BlockQ4_0>(blocks, b, chunk);
}

inline void unpack_chunk(BlockQ4_0, const std::byte* chunk, size_t n, size_t lane, float* out) {
  unpack_small_chunk<Q4_0Panel, false, false, 8>(chunk, n, lane, out);
}

// --- Reading for products ----------------------------------------------------------------------

// A chunk of a panel, read as it lies.
struct PackedQ4_0 {
  using Panel = Q4_0Panel;
  const std::byte* chunk;
  Ahead next = {};

  // Group g of half h of block b: the first half lies in the low nibbles, the second in the high
  // ones of the same units.
  I32x16 unit(size_t b, size_t h, size_t g) const {
    const std::byte* at = chunk + Q4_0Panel::block_at(b) + g * kUnit;
    const I32x16 nibbles = load_i32(at);
    return bit_and(h == 0 ? nibbles : shift_right<4>(nibbles), broadcast_i32(0x0f0f0f0f));
  }
  F32x16 scale(size_t b) const { return load_half_row(chunk + Q4_0Panel::scale_at(b)); }
  void begin_block(size_t b) const { next.fetch(b, kChunkBlocks); }
};

}  // namespace
}  // namespace maglio

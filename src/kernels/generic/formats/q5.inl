// Q5_0 and Q5_1: blocks of 32 five-bit integers with an f16 scale; zero at 16, or an f16 offset
// (quant/blocks.h).
#pragma once

#include "kernels/generic/matmul_a16.inl"
#include "kernels/generic/pack.inl"
#include "kernels/generic/unpack.inl"

namespace maglio {
namespace {

// --- Layout ------------------------------------------------------------------------------------

// One unit of fifth bits, then 4 units as Q4_1: bit g of byte j of lane r belongs to value 4g + j.
using Q5_0Panel = SmallPanel<false, 5 * kUnit>;
using Q5_1Panel = SmallPanel<true, 5 * kUnit>;

// --- Packing and unpacking ---------------------------------------------------------------------

// Bit g of byte j = bit 4g + j: of a small block's high bits, bit i for value i.
inline U32x4 group_bits(U32x4 bits) {
  U32x4 grouped = {};
  for (uint32_t j = 0; j < 4; ++j) {
    U32x4 x = (bits >> j) & 0x11111111u;  // every fourth bit, moved together in three steps
    x = (x | x >> 3) & 0x03030303u;
    x = (x | x >> 6) & 0x000f000fu;
    x = (x | x >> 12) & 0x000000ffu;
    grouped |= x << (8 * j);
  }
  return grouped;
}

inline void pack_small_fifth_bits(const PanelRows& blocks, size_t offset, std::byte* unit) {
  for (size_t lane = 0; lane < kPanelRows; lane += 4) {
    store_vector(unit + 4 * lane, group_bits(gather_dwords(blocks, lane, offset)));
  }
}

template <class Panel, class Block>
void pack_five_bits(const PanelRows& blocks, size_t b, std::byte* chunk) {
  clear_new_scales<Panel>(b, chunk);
  gather_halves(blocks, offsetof(Block, d), chunk + Panel::scale_at(b));
  pack_small_fifth_bits(blocks, offsetof(Block, high), chunk + Panel::block_at(b));
  interleave<4>(blocks, offsetof(Block, u), chunk + Panel::block_at(b) + kUnit);
}

inline void pack_block(BlockQ5_0, const PanelRows& blocks, size_t b, std::byte* chunk) {
  pack_five_bits<Q5_0Panel, BlockQ5_0>(blocks, b, chunk);
}
inline void pack_block(BlockQ5_1, const PanelRows& blocks, size_t b, std::byte* chunk) {
  pack_five_bits<Q5_1Panel, BlockQ5_1>(blocks, b, chunk);
  gather_halves(blocks, offsetof(BlockQ5_1, m), chunk + Q5_1Panel::offset_at(b));
}

inline void unpack_chunk(BlockQ5_0, const std::byte* chunk, size_t n, size_t lane, float* out) {
  unpack_small_chunk<Q5_0Panel, true, false, 16>(chunk, n, lane, out);
}
inline void unpack_chunk(BlockQ5_1, const std::byte* chunk, size_t n, size_t lane, float* out) {
  unpack_small_chunk<Q5_1Panel, true, true, 0>(chunk, n, lane, out);
}

// --- Reading for products ----------------------------------------------------------------------

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
    return {load_i32(at), shift_right_by(load_i32(units), g)};
  }
  static constexpr size_t dword(size_t g, size_t v) { return Q4_1Block::dword(g, v); }
};
using Q5_0Block = FiveBitsBlock<Q5_0Panel, false, 16>;
using Q5_1Block = FiveBitsBlock<Q5_1Panel, true, 0>;

}  // namespace
}  // namespace maglio

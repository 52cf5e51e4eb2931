// Q4_1: blocks of 32 four-bit integers with an f16 scale and an f16 offset (quant/blocks.h).
#pragma once

#include "kernels/generic/matmul_a16.inl"
#include "kernels/generic/pack.inl"
#include "kernels/generic/unpack.inl"

namespace maglio {
namespace {

// --- Layout ------------------------------------------------------------------------------------

// Units of a block: 4, low nibble group g, high nibble group g + 4.
using Q4_1Panel = SmallPanel<true, 4 * kUnit>;

// --- Packing and unpacking ---------------------------------------------------------------------

inline void pack_block(BlockQ4_1, const PanelRows& blocks, size_t b, std::byte* chunk) {
  pack_nibbles<Q4_1Panel, BlockQ4_1>(blocks, b, chunk);
  gather_halves(blocks, offsetof(BlockQ4_1, m), chunk + Q4_1Panel::offset_at(b));
}

inline void unpack_chunk(BlockQ4_1, const std::byte* chunk, size_t n, size_t lane, float* out) {
  unpack_small_chunk<Q4_1Panel, false, true, 0>(chunk, n, lane, out);
}

// --- Reading for products ----------------------------------------------------------------------

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
  Step step(size_t g) const { return {load_i32(units + g * kUnit)}; }
  static constexpr size_t dword(size_t g, size_t v) { return 2 * (g + v / 2 * 4) + v % 2; }
};

}  // namespace
}  // namespace maglio

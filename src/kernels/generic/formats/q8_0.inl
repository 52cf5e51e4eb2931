// Q8_0: blocks of 32 int8 with one f16 scale (quant/blocks.h).
#pragma once

#include "kernels/generic/matmul_a16.inl"
#include "kernels/generic/pack.inl"
#include "kernels/generic/unpack.inl"

namespace maglio {
namespace {

// --- Layout ------------------------------------------------------------------------------------

// Units of a block: 8 groups of int8.
using Q8_0Panel = SmallPanel<false, 8 * kUnit>;

// --- Packing and unpacking ---------------------------------------------------------------------

inline void pack_block(BlockQ8_0, const PanelRows& blocks, size_t b, std::byte* chunk) {
  clear_new_scales<Q8_0Panel>(b, chunk);
  gather_halves(blocks, offsetof(BlockQ8_0, d), chunk + Q8_0Panel::scale_at(b));
  interleave<8>(blocks, offsetof(BlockQ8_0, q), chunk + Q8_0Panel::block_at(b));
}

inline void unpack_chunk(BlockQ8_0, const std::byte* chunk, size_t n, size_t lane, float* out) {
  for (size_t b = 0; b < n; ++b) {
    const float d = load_half_at(chunk + Q8_0Panel::scale_at(b), lane);
    for (size_t i = 0; i < 32; ++i) {
      const uint32_t group = unit_lane(chunk + Q8_0Panel::block_at(b), i / 4, lane);
      out[32 * b + i] = d * static_cast<float>(static_cast<int8_t>(group >> (8 * (i % 4))));
    }
  }
}

// --- Reading for products ----------------------------------------------------------------------

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
  Step step(size_t g) const { return {load_i32(units + g * kUnit)}; }
  static constexpr size_t dword(size_t g, size_t v) { return 2 * g + v; }
};

}  // namespace
}  // namespace maglio

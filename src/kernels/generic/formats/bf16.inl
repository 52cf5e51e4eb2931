// BF16: a float of 8 significant bits. Products are those of class a16, with integers that are made
// while reading: a block of 32 weights is counted in steps of a 1024th of its largest binade,
//   w = 2^(e - 137) * q, q rounded to nearest even, |q| <= 2040
// where e is the largest exponent field of the block (at least 11, so that both powers of two are
// normal). Weights that are no smaller than an eighth of that binade stay exact. A block that holds
// a NaN or an infinity gives NaN or infinity in every output.
//
//   |I| <= 32 * 2040 * 32767 < 2^31
//
// The chain of f32 fma, exact weights included, does half as many products an instruction on every
// instruction set; the numbers are in docs/decisions/0010-bf16-as-integers.md.
#pragma once

#include "kernels/generic/matmul_a16.inl"
#include "kernels/generic/pack.inl"
#include "kernels/generic/unpack.inl"

namespace maglio {
namespace {

// --- Layout ------------------------------------------------------------------------------------

// A line of exponents [4 blocks][16 rows] (the byte max(e, 11) - 10; 255 where e is 255), then the
// units of four blocks: dword lane r of unit i holds values 2i and 2i + 1 of row r.
using BFloat16Panel = RunPanel<4, 16 * kUnit>;  // 1.6 % more bytes

// --- Packing and unpacking ---------------------------------------------------------------------

inline uint8_t exponent_of_block(const std::byte* values) {
  uint16_t largest = 0;
  for (size_t i = 0; i < 32; ++i) {
    uint16_t bits = 0;
    __builtin_memcpy(&bits, values + 2 * i, 2);
    const auto magnitude = static_cast<uint16_t>(bits & 0x7fffu);
    largest = magnitude > largest ? magnitude : largest;
  }
  const int e = largest >> 7;
  return static_cast<uint8_t>(e == 255 ? 255 : e < 11 ? 1 : e - 10);
}

inline void pack_bfloat16_block(const PanelRows& values, size_t b, std::byte* chunk) {
  using Panel = BFloat16Panel;
  clear_new_scales<Panel>(b, chunk);
  for (size_t lane = 0; lane < kPanelRows; ++lane) {
    chunk[Panel::scale_at(b) + lane] = std::byte{exponent_of_block(values[lane])};
  }
  interleave<16>(values, 0, chunk + Panel::block_at(b));
}

inline void pack_bfloat16_panel(
    const std::byte* rows, size_t row_bytes, size_t n, size_t k, std::byte* panel) {
  const std::byte* const next = rows + kPanelRows * row_bytes;
  for (size_t first = 0; first < k; first += 32) {
    std::byte* const chunk = panel + first / kChunk * BFloat16Panel::chunk_bytes(kChunk);
    PanelRows values{rows + 2 * first, row_bytes, n, next + 2 * first * kPanelRows};
    std::byte filled[kPanelRows][64] = {};  // what the last block lacks counts as zeros
    if (k - first < 32) {
      for (size_t r = 0; r < n; ++r) __builtin_memcpy(filled[r], values[r], 2 * (k - first));
      values = {filled[0], sizeof filled[0], n, next};
    }
    pack_bfloat16_block(values, first % kChunk / 32, chunk);
  }
}

inline void unpack_bfloat16_row(const std::byte* panel, size_t lane, size_t k, float* out) {
  for (size_t i = 0; i < k; ++i) {
    const std::byte* chunk = panel + i / kChunk * BFloat16Panel::chunk_bytes(kChunk);
    const std::byte* units = chunk + BFloat16Panel::block_at(i % kChunk / 32);
    const uint32_t two = unit_lane(units, i % 32 / 2, lane);
    out[i] = to_float(BFloat16{static_cast<uint16_t>(two >> (16 * (i % 2)))});
  }
}

// --- Reading for products ----------------------------------------------------------------------

struct BFloat16Block {
  using Panel = BFloat16Panel;
  static constexpr bool kWithOffset = false;
  static constexpr size_t kPackedRows = 3;
  static constexpr size_t kSteps = 8;
  static constexpr size_t kVectors = 2;
  const std::byte* units;
  F32x16 inverse;

  struct Step {
    I32x16 first;   // values 0, 1 of four
    I32x16 second;  // values 2, 3
    F32x16 inverse;

    // The integer is what is left in the low bits of 1.5 * 2^23 + w / step.
    I32x16 integers(I32x16 bits) const {
      return f32_to_bits(fma(bits_to_f32(bits), inverse, broadcast(12582912.0f)));
    }
    I32x16 pairs(size_t v) const {
      const I32x16 upper = broadcast_i32(static_cast<int32_t>(0xffff0000u));
      const I32x16 low = v == 0 ? shift_left<16>(first) : bit_and(first, upper);
      const I32x16 high = v == 0 ? shift_left<16>(second) : bit_and(second, upper);
      return and_or(integers(low), broadcast_i32(0xffff), shift_left<16>(integers(high)));
    }
  };
  Step step(size_t g) const {
    const std::byte* two = units + 2 * g * kUnit;
    return {load_i32(two), load_i32(two + kUnit), inverse};
  }
  static constexpr size_t dword(size_t g, size_t v) { return 2 * g + v; }
};

// In place of PackedA16: scales are powers of two, and reading needs their inverses too.
struct PackedBFloat16 {
  const std::byte* chunk;
  Ahead next = {};

  I32x16 exponents(size_t b) const {
    const auto* bytes = reinterpret_cast<const int8_t*>(chunk + BFloat16Panel::scale_at(b));
    return bit_and(load_s8(bytes), broadcast_i32(255));
  }
  BFloat16Block block(size_t b) const {
    next.fetch(b, kChunkBlocks);
    const I32x16 inverse = shift_left<23>(sub_i32(broadcast_i32(254), exponents(b)));
    return {chunk + BFloat16Panel::block_at(b), bits_to_f32(inverse)};
  }
  F32x16 scale(size_t b) const { return bits_to_f32(shift_left<23>(exponents(b))); }
};

using BFloat16Format = A16Format<BFloat16Block, PackedBFloat16>;

}  // namespace
}  // namespace maglio

// BF16: a float of 8 significant bits. Products are those of class a16, with integers that are made
// while packing: a block of 32 weights is counted in steps of a 1024th of its largest binade,
//   w = 2^(e - 137) * q, q rounded to nearest even, |q| <= 2040
// where e is the largest exponent field of the block (at least 11, so that both powers of two are
// normal). Weights that are no smaller than an eighth of that binade stay exact. A block that holds
// a NaN or an infinity gives NaN in every output.
//
//   |I| <= 32 * 2040 * 32767 < 2^31
//
// So a panel holds twelve bits for each sixteen of the file, and not the weights themselves: who
// wants those reads the file. The chain of f32 fma, exact weights included, does half as many
// products an instruction on every instruction set; the numbers are in
// docs/decisions/0010-bf16-as-integers.md.
#pragma once

#include "kernels/generic/matmul_a16.inl"
#include "kernels/generic/pack.inl"

namespace maglio {
namespace {

// --- Layout ------------------------------------------------------------------------------------

// A line of exponents [4 blocks][16 rows] (the byte max(e, 11) - 10; 255 where e is 255), then the
// units of four blocks: for each eight values, which are four pairs p of int16 as the products take
// them, three units. The halves of unit i are p_i << 4 with, in their low bits, bits 4i to 4i + 3
// of p_3.
constexpr size_t kPairsOfStep = 4;
constexpr size_t kUnitsOfStep = 3;
using BFloat16Panel = RunPanel<4, 4 * kUnitsOfStep * kUnit>;  // 77 % of the file's bytes

// --- Packing -----------------------------------------------------------------------------------

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

inline I32x16 load_exponents(const std::byte* exponents) {
  return bit_and(load_s8(reinterpret_cast<const int8_t*>(exponents)), broadcast_i32(255));
}

// first: values 0 and 1 of four, second: values 2 and 3. The integers of values v and v + 2.
inline I32x16 bfloat16_pairs(I32x16 first, I32x16 second, F32x16 inverse, size_t v) {
  // What is left in the low bits of 1.5 * 2^23 + w / step.
  const auto integers = [&](I32x16 bits) {
    return f32_to_bits(fma(bits_to_f32(bits), inverse, broadcast(12582912.0f)));
  };
  const I32x16 upper = broadcast_i32(static_cast<int32_t>(0xffff0000u));
  const I32x16 low = v == 0 ? shift_left<16>(first) : bit_and(first, upper);
  const I32x16 high = v == 0 ? shift_left<16>(second) : bit_and(second, upper);
  return and_or(integers(low), broadcast_i32(0xffff), shift_left<16>(integers(high)));
}

inline void pack_bfloat16_block(const PanelRows& values, size_t b, std::byte* chunk) {
  using Panel = BFloat16Panel;
  clear_new_scales<Panel>(b, chunk);
  std::byte* const exponents = chunk + Panel::scale_at(b);
  for (size_t lane = 0; lane < kPanelRows; ++lane) {
    exponents[lane] = std::byte{exponent_of_block(values[lane])};
  }
  const F32x16 inverse =
      bits_to_f32(shift_left<23>(sub_i32(broadcast_i32(254), load_exponents(exponents))));
  alignas(kUnit) std::byte twos[16][kUnit];  // dword lane r of twos[i]: values 2i, 2i + 1 of row r
  interleave<16>(values, 0, twos[0]);
  std::byte* unit = chunk + Panel::block_at(b);
  for (size_t i = 0; i < 16; i += 4) {
    I32x16 pairs[kPairsOfStep];
    for (size_t p = 0; p < kPairsOfStep; ++p) {
      const auto& four = twos[i + p / 2 * 2];
      pairs[p] = bfloat16_pairs(load_i32(four), load_i32(four + kUnit), inverse, p % 2);
    }
    const I32x16 nibbles = broadcast_i32(0x000f000f);
    const I32x16 fourth[kUnitsOfStep] = {pairs[3], shift_right<4>(pairs[3]),
                                         shift_right<8>(pairs[3])};
    for (size_t p = 0; p < kUnitsOfStep; ++p, unit += kUnit) {
      const I32x16 twelve =
          bit_and(shift_left<4>(pairs[p]), broadcast_i32(static_cast<int32_t>(0xfff0fff0u)));
      store_i32(unit, and_or(fourth[p], nibbles, twelve));
    }
  }
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

// --- Reading for products ----------------------------------------------------------------------

struct BFloat16Block {
  using Panel = BFloat16Panel;
  static constexpr bool kWithOffset = false;
  static constexpr size_t kPackedRows = kFreeUnpacking ? kAnyRows : 3;
  static constexpr size_t kSteps = 4;
  static constexpr size_t kVectors = kPairsOfStep;
  const std::byte* units;

  struct Step {
    I32x16 unit[kUnitsOfStep];

    I32x16 pairs(size_t v) const {
      if (v < kUnitsOfStep) return upper_s12(unit[v]);
      const I32x16 top = bit_and(shift_left<12>(unit[2]), nibbles_at(12));
      const I32x16 upper = and_or(shift_left<8>(unit[1]), nibbles_at(8), top);
      return upper_s12(and_or(shift_left<4>(unit[0]), nibbles_at(4), upper));
    }
    static I32x16 nibbles_at(int bit) {
      return broadcast_i32(static_cast<int32_t>(0x000f000fu << bit));
    }
  };
  Step step(size_t g) const {
    const std::byte* three = units + kUnitsOfStep * g * kUnit;
    return {{load_i32(three), load_i32(three + kUnit), load_i32(three + 2 * kUnit)}};
  }
  static constexpr size_t dword(size_t g, size_t v) { return kPairsOfStep * g + v; }
};

// In place of PackedA16: scales are powers of two.
struct PackedBFloat16 {
  const std::byte* chunk;
  Ahead next = {};

  BFloat16Block block(size_t b) const {
    next.fetch(b, kChunkBlocks);
    return {chunk + BFloat16Panel::block_at(b)};
  }
  F32x16 scale(size_t b) const {
    return bits_to_f32(shift_left<23>(load_exponents(chunk + BFloat16Panel::scale_at(b))));
  }
};

using BFloat16Format = A16Format<BFloat16Block, PackedBFloat16>;

}  // namespace
}  // namespace maglio

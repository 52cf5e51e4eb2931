// Q6_K: super-blocks of 256 six-bit integers with zero at 32, an int8 scale for each 16, an f16
// scale for all (quant/blocks.h).
#pragma once

#include "kernels/generic/matmul_a8k.inl"
#include "kernels/generic/pack.inl"
#include "kernels/generic/unpack.inl"

namespace maglio {
namespace {

// --- Layout ------------------------------------------------------------------------------------

// Q6_K: d f16 [16]; 32 bytes unused; then for each step of 64 values, which are four sub-blocks i
// of four groups g: sc s8 [4][16]; H and N units in turns for each g, the high bits of all four
// sub-blocks (two bits of sub-block i at bit 2i) and the low nibbles of 0 (low) and 1 (high); then
// N[4] of 2 and 3. So every line is first met behind the one before it. With all scales in front
// and H[4] before N[4], one row on two cores read 29 GB/s of 49; the file's order, in which
// quarters of 128 values share bytes, was slower still (Zen 4).
struct Q6_KPanel {
  static constexpr size_t kStepBytes = 13 * kUnit;
  static constexpr size_t kBytes = kUnit + 4 * kStepBytes;
  static constexpr size_t chunk_bytes(size_t) { return kBytes; }
  static constexpr size_t step_at(size_t step) { return kUnit + step * kStepBytes; }
  static constexpr size_t scale_at(size_t sub) { return step_at(sub / 4) + sub % 4 * kPanelRows; }
  // In a step: of group g, and of sub-blocks 2h and 2h + 1.
  static constexpr size_t high_at(size_t g) { return (1 + 2 * g) * kUnit; }
  static constexpr size_t low_at(size_t h, size_t g) {
    return (h == 0 ? 2 + 2 * g : 9 + g) * kUnit;
  }
};
static_assert(Q6_KPanel::kBytes == 3392);

// --- Packing and unpacking ---------------------------------------------------------------------

// The high bits of four sub-blocks: of each group the two bits from `bit` on of the first and the
// second four units, then the two after those.
inline void pack_q6_k_high(const std::byte* high, uint32_t bit, std::byte* step) {
  constexpr uint32_t kTwo = 0x03030303u;
  for (size_t at = 0; at < 4 * kUnit; at += sizeof(U32x4)) {
    const U32x4 first = load_vector<U32x4>(high + at) >> bit;
    const U32x4 second = load_vector<U32x4>(high + 4 * kUnit + at) >> bit;
    store_vector(step + Q6_KPanel::high_at(at / kUnit) + at % kUnit,
                 (first & kTwo) | (second & kTwo) << 2 | (first >> 2 & kTwo) << 4 |
                     (second >> 2 & kTwo) << 6);
  }
}
// The nibbles at `bit` of the first four units, and above them of the second four.
inline void pack_q6_k_low(const std::byte* low, uint32_t bit, size_t h, std::byte* step) {
  constexpr uint32_t kNibble = 0x0f0f0f0fu;
  for (size_t at = 0; at < 4 * kUnit; at += sizeof(U32x4)) {
    const U32x4 first = load_vector<U32x4>(low + at) >> bit;
    const U32x4 second = load_vector<U32x4>(low + 4 * kUnit + at) >> bit;
    store_vector(step + Q6_KPanel::low_at(h, at / kUnit) + at % kUnit,
                 (first & kNibble) | (second & kNibble) << 4);
  }
}

inline void pack_block(const BlockQ6_K&, const PanelRows& blocks, size_t, std::byte* chunk) {
  gather_halves(blocks, offsetof(BlockQ6_K, d), chunk);
  __builtin_memset(chunk + kHalves, 0, kUnit - kHalves);
  U8x16 sc[kPanelRows];
  for (size_t lane = 0; lane < kPanelRows; ++lane) {
    sc[lane] = load_vector<U8x16>(blocks[lane] + offsetof(BlockQ6_K, sc));
  }
  transpose<kPanelRows>(sc);
  for (size_t t = 0; t < 16; ++t) store_vector(chunk + Q6_KPanel::scale_at(t), sc[t]);
  for (size_t half = 0; half < 2; ++half) {
    constexpr size_t kLow = offsetof(BlockQ6_K, low), kHigh = offsetof(BlockQ6_K, high);
    alignas(kUnit) std::byte low[2][8 * kUnit];  // low bits of quarters 0 and 2, of 1 and 3
    alignas(kUnit) std::byte high[8 * kUnit];    // of all four
    interleave<8>(blocks, kLow + 64 * half, low[0]);
    interleave<8>(blocks, kLow + 64 * half + 32, low[1]);
    interleave<8>(blocks, kHigh + 32 * half, high);
    for (uint32_t q = 0; q < 2; ++q) {  // quarters 2q and 2q + 1
      std::byte* step = chunk + Q6_KPanel::step_at(2 * half + q);
      pack_q6_k_high(high, 4 * q, step);
      pack_q6_k_low(low[0], 4 * q, 0, step);
      pack_q6_k_low(low[1], 4 * q, 1, step);
    }
  }
}

inline void unpack_chunk(
    const BlockQ6_K&, const std::byte* chunk, size_t, size_t lane, float* out) {
  const float d = load_half_at(chunk, lane);
  for (size_t i = 0; i < kChunk; ++i) {
    const std::byte* step = chunk + Q6_KPanel::step_at(i / 64);
    const size_t sub = i % 64 / 16;
    const size_t g = i % 16 / 4;
    const uint32_t shift = static_cast<uint32_t>(8 * (i % 4));
    const uint32_t high = unit_lane(step + Q6_KPanel::high_at(g), 0, lane) >> (shift + 2 * sub);
    const uint32_t nibbles =
        unit_lane(step + Q6_KPanel::low_at(sub / 2, g), 0, lane) >> (shift + sub % 2 * 4);
    const uint32_t u = (nibbles & 15u) | ((high & 3u) << 4);
    const auto sc = static_cast<int8_t>(chunk[Q6_KPanel::scale_at(i / 16) + lane]);
    out[i] = d * static_cast<float>(sc) * static_cast<float>(static_cast<int32_t>(u) - 32);
  }
}

// --- Reading for products ----------------------------------------------------------------------

// A super-block of Q6_K as it lies in the panel.
struct PackedQ6_K {
  using Panel = Q6_KPanel;
  const std::byte* chunk;
  Ahead next = {};

  // Sub-block i of the four that share a step (panel.inl).
  struct SubBlock {
    const std::byte* step;
    size_t i;

    I32x16 unit(size_t g) const {
      const std::byte* high_at = step + Panel::high_at(g);
      const std::byte* low_at = step + Panel::low_at(i / 2, g);
      const I32x16 nibbles = load_i32(low_at);
      const I32x16 low = i % 2 == 0 ? nibbles : shift_right<4>(nibbles);
      const I32x16 high =
          bit_and(move_bits(load_i32(high_at), 2 * i, 4), broadcast_i32(0x30303030));
      return and_or(low, broadcast_i32(0x0f0f0f0f), high);
    }
  };
  static constexpr size_t kPeriod = 4;
  SubBlock sub_block(size_t s, size_t i) const {
    next.fetch(s, 16);
    return {chunk + Panel::step_at(s / 4), i};
  }
  I32x16 scale(size_t s) const { return load_scales_s8(chunk + Panel::scale_at(s)); }
  I32x16 pair(size_t i) const {
    const std::byte* sc = chunk + Panel::scale_at(2 * i);
    return load_pairs_s8(sc, sc + kPanelRows);
  }
  F32x16 scale_d() const { return load_half_row(chunk); }
};

struct Q6_KFormat {
  using Chunk = A8kChunk;
  using Panel = Q6_KPanel;
  using Packed = PackedQ6_K;
  using Expanded = ExpandedA8k<16, 8>;
  static constexpr size_t kPackedRows = kFreeUnpacking ? 16 : 4;
  static constexpr size_t kTile = kWideSums && kTileRows > 8 ? 8 : kTileRows;  // three sums a row

  // Where sums are int32: each starts at -32 times its sum of q, and sub-blocks s - 1 and s meet
  // their common m together. scaled: the first one's part
  template <size_t kRows, class Weights>
  [[gnu::always_inline]] static void add_wide(
      I32x16* sum, I32x16* scaled, const Weights& w, size_t s, size_t i, const Chunk* a) {
    const auto sub = w.sub_block(s, i);
    I32x16 part[kRows];
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) part[r] = broadcast_load_i32(&a[r].zero[s]);
#pragma GCC unroll 4
    for (size_t g = 0; g < 4; ++g) {
      const I32x16 unit = sub.unit(g);
#pragma GCC unroll 16
      for (size_t r = 0; r < kRows; ++r) add_dot_u8s8(part[r], unit, a[r].q + 16 * s + 4 * g);
    }
    const I32x16 scale = w.scale(s);
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) {
      if (s % 2 == 0) {
        scaled[r] = fold(zero_i32(), part[r], scale);
      } else {
        sum[r] = add_i32(sum[r], mul_scales(fold(scaled[r], part[r], scale), &a[r].m[s / 2]));
      }
    }
  }

  // Where sums are int16: 32 times the scaled sums of q, for all sub-blocks at the end.
  template <size_t kRows, class Weights>
  static void subtract_zero(I32x16* sum, const Weights& w, const Chunk* a) {
    I32x16 scales[8];
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; ++i) scales[i] = w.pair(i);
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) {
      I32x16 offset = zero_i32();
#pragma GCC unroll 8
      for (size_t i = 0; i < 8; ++i) add_dot_s16(offset, scales[i], pair_at(a[r].sum, i));
      sum[r] = sub_i32(sum[r], shift_left<5>(offset));
    }
  }

  // acc: [kRows][16]; a: kRows records; w: PackedQ6_K or ExpandedA8k
  template <size_t kRows, class Weights>
  [[gnu::noinline]] static void multiply(const Weights& w, const Chunk* a, size_t, float* acc) {
    I32x16 sum[kRows];
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) sum[r] = zero_i32();
    [[maybe_unused]] I32x16 scaled[kRows];
    each_sub_block<Weights, 16>([&](size_t s, size_t i) {
      if constexpr (kWideSums) {
        add_wide<kRows>(sum, scaled, w, s, i, a);
      } else {
        add_sub_block<kRows, 4, 63>(sum, w.sub_block(s, i), w.scale(s), a, 16 * s, s / 2);
      }
    });
    if constexpr (!kWideSums) subtract_zero<kRows>(sum, w, a);
    const F32x16 d = w.scale_d();
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) {
      float* t = acc + r * kPanelRows;
      store(t, fma(to_f32(sum[r]), mul(d, broadcast(a[r].d)), load(t)));
    }
  }

  [[gnu::noinline]] static void expand(const Packed& w, size_t, Expanded& out) {
    expand_a8k<Packed, Expanded, 16, 8>(w, out);
  }
};

}  // namespace
}  // namespace maglio

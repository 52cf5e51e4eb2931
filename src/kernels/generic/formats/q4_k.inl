// Q4_K and Q5_K: super-blocks of 256 four- or five-bit integers, a six-bit scale and minimum for
// each 32, an f16 scale and minimum for all (quant/blocks.h).
#pragma once

#include "kernels/generic/matmul_a8k.inl"
#include "kernels/generic/pack.inl"
#include "kernels/generic/unpack.inl"

namespace maglio {
namespace {

// --- Layout ------------------------------------------------------------------------------------

// Q4_K and Q5_K: d f16 [16]; dmin f16 [16]; sc u8 [8][16]; mn u8 [8][16]; then for each pair of
// sub-blocks j = 0..3: for Q5_K two units of fifth bits (sub-block 2j, 2j + 1; as Q5_0), and 8
// units, low nibble group g of sub-block 2j, high nibble group g of 2j + 1.
template <bool kFiveBits>
struct AffinePanel {
  static constexpr size_t kMinAt = kHalves;
  static constexpr size_t kScalesAt = 2 * kHalves;
  static constexpr size_t kMinimaAt = kScalesAt + kChunkBlocks * kPanelRows;
  static constexpr size_t kPairsAt = kMinimaAt + kChunkBlocks * kPanelRows;
  static constexpr size_t kPairBytes = (kFiveBits ? 10 : 8) * kUnit;
  static constexpr size_t kNibblesAt = (kFiveBits ? 2 : 0) * kUnit;  // inside a pair
  static constexpr size_t kBytes = kPairsAt + 4 * kPairBytes;
  static constexpr size_t chunk_bytes(size_t) { return kBytes; }
};
static_assert(AffinePanel<false>::kBytes == 2368 && AffinePanel<true>::kBytes == 2880);

// --- Packing and unpacking ---------------------------------------------------------------------

// Bit s of every byte of x[g] becomes bit g of that byte of x[s]: 8 x 8 bits, byte for byte
// (Warren, Hacker's Delight, 2nd ed., section 7-3).
inline void transpose_bits(U32x4 (&x)[8]) {
  constexpr uint32_t kMasks[3] = {0x55555555u, 0x33333333u, 0x0f0f0f0fu};
  for (size_t step = 0; step < 3; ++step) {
    const size_t d = size_t{1} << step;
    for (size_t i = 0; i < 8; ++i) {
      if ((i & d) != 0) continue;
      const U32x4 other = ((x[i] >> static_cast<uint32_t>(d)) ^ x[i + d]) & kMasks[step];
      x[i + d] ^= other;
      x[i] ^= other << static_cast<uint32_t>(d);
    }
  }
}

// dwords: one of each row. to [4][16]: their bytes.
inline void spread_bytes(const U32x4 (&dwords)[4], std::byte* to) {
  U8x16 v[4];
  for (size_t i = 0; i < 4; ++i) v[i] = reinterpret_cast<U8x16>(dwords[i]);
  transpose<kPanelRows>(v);
  for (size_t i = 0; i < 4; ++i) store_vector(to + i * kPanelRows, v[i]);
}

// sc, mn [8][16] from the 12 bytes at `offset` of each row (blocks.h has the bit fields), four
// scales in a dword.
inline void pack_scales_and_minima(const PanelRows& blocks,
                                   size_t offset,
                                   std::byte* sc,
                                   std::byte* mn) {
  constexpr uint32_t kSix = 0x3f3f3f3fu, kFour = 0x0f0f0f0fu, kUpperTwo = 0x30303030u;
  U32x4 sc_0[4], sc_4[4], mn_0[4], mn_4[4];
  for (size_t i = 0; i < 4; ++i) {
    const U32x4 a = gather_dwords(blocks, 4 * i, offset);
    const U32x4 b = gather_dwords(blocks, 4 * i, offset + 4);
    const U32x4 c = gather_dwords(blocks, 4 * i, offset + 8);
    sc_0[i] = a & kSix;
    mn_0[i] = b & kSix;
    sc_4[i] = (c & kFour) | ((a >> 2) & kUpperTwo);
    mn_4[i] = ((c >> 4) & kFour) | ((b >> 2) & kUpperTwo);
  }
  spread_bytes(sc_0, sc);
  spread_bytes(sc_4, sc + 4 * kPanelRows);
  spread_bytes(mn_0, mn);
  spread_bytes(mn_4, mn + 4 * kPanelRows);
}

template <bool kFiveBits, class Block>
void pack_affine(const PanelRows& blocks, std::byte* chunk) {
  using Panel = AffinePanel<kFiveBits>;
  gather_halves(blocks, offsetof(Block, d), chunk);
  gather_halves(blocks, offsetof(Block, dmin), chunk + Panel::kMinAt);
  pack_scales_and_minima(blocks, offsetof(Block, scales), chunk + Panel::kScalesAt,
                         chunk + Panel::kMinimaAt);
  for (size_t j = 0; j < 4; ++j) {
    interleave<8>(blocks, offsetof(Block, u) + 32 * j,
                  chunk + Panel::kPairsAt + j * Panel::kPairBytes + Panel::kNibblesAt);
  }
}
inline void pack_block(const BlockQ4_K&, const PanelRows& blocks, size_t, std::byte* chunk) {
  pack_affine<false, BlockQ4_K>(blocks, chunk);
}
inline void pack_block(const BlockQ5_K&, const PanelRows& blocks, size_t, std::byte* chunk) {
  using Panel = AffinePanel<true>;
  pack_affine<true, BlockQ5_K>(blocks, chunk);
  alignas(kUnit) std::byte high[8 * kUnit];
  interleave<8>(blocks, offsetof(BlockQ5_K, high), high);
  for (size_t at = 0; at < kUnit; at += sizeof(U32x4)) {
    U32x4 x[8];  // of group g; then of sub-block s
    for (size_t g = 0; g < 8; ++g) x[g] = load_vector<U32x4>(high + g * kUnit + at);
    transpose_bits(x);
    for (size_t s = 0; s < 8; ++s) {
      std::byte* pair = chunk + Panel::kPairsAt + s / 2 * Panel::kPairBytes;
      store_vector(pair + s % 2 * kUnit + at, x[s]);
    }
  }
}

template <bool kFiveBits>
void unpack_affine_chunk(const std::byte* chunk, size_t lane, float* out) {
  using Panel = AffinePanel<kFiveBits>;
  const float d = load_half_at(chunk, lane);
  const float dmin = load_half_at(chunk + Panel::kMinAt, lane);
  for (size_t s = 0; s < kChunkBlocks; ++s) {
    const auto sc = static_cast<uint8_t>(chunk[Panel::kScalesAt + s * kPanelRows + lane]);
    const auto mn = static_cast<uint8_t>(chunk[Panel::kMinimaAt + s * kPanelRows + lane]);
    const float scale = d * static_cast<float>(sc);
    const float offset = dmin * static_cast<float>(mn);
    const std::byte* pair = chunk + Panel::kPairsAt + s / 2 * Panel::kPairBytes;
    const uint32_t high = kFiveBits ? unit_lane(pair, s % 2, lane) : 0;
    uint8_t u[32];
    for (size_t g = 0; g < 8; ++g) {
      read_group(unit_lane(pair + Panel::kNibblesAt, g, lane), s % 2 == 1, high, g, u + 4 * g);
    }
    for (size_t i = 0; i < 32; ++i) out[32 * s + i] = scale * static_cast<float>(u[i]) - offset;
  }
}
inline void unpack_chunk(
    const BlockQ4_K&, const std::byte* chunk, size_t, size_t lane, float* out) {
  unpack_affine_chunk<false>(chunk, lane, out);
}
inline void unpack_chunk(
    const BlockQ5_K&, const std::byte* chunk, size_t, size_t lane, float* out) {
  unpack_affine_chunk<true>(chunk, lane, out);
}

// --- Reading for products ----------------------------------------------------------------------

// A super-block of Q4_K or Q5_K as it lies in the panel.
template <bool kFiveBits>
struct PackedAffine {
  using Panel = AffinePanel<kFiveBits>;
  const std::byte* chunk;
  Ahead next = {};

  // Even sub-blocks lie in the low nibbles, odd ones in the high nibbles of the same units.
  struct SubBlock {
    const std::byte* units;
    size_t upper;  // 0 or 1
    I32x16 fifths;

    I32x16 unit(size_t g) const {
      const I32x16 nibbles = load_i32(units + g * kUnit);
      const I32x16 low = upper == 0 ? nibbles : shift_right<4>(nibbles);
      const I32x16 nibble = broadcast_i32(0x0f0f0f0f);
      if constexpr (!kFiveBits) return bit_and(low, nibble);
      const I32x16 high = bit_and(move_bits(fifths, g, 4), broadcast_i32(0x10101010));
      return and_or(low, nibble, high);
    }
  };
  static constexpr size_t kPeriod = 2;
  SubBlock sub_block(size_t s, size_t i) const {
    next.fetch(s, kChunkBlocks);
    const std::byte* pair = chunk + Panel::kPairsAt + s / 2 * Panel::kPairBytes;
    SubBlock sub{pair + Panel::kNibblesAt, i, {}};
    if constexpr (kFiveBits) {
      sub.fifths = load_i32(pair + i * kUnit);
    }
    return sub;
  }
  I32x16 scale(size_t s) const { return load_scales_s8(chunk + Panel::kScalesAt + s * kPanelRows); }
  I32x16 scale_pair(size_t i) const {
    const std::byte* sc = chunk + Panel::kScalesAt + 2 * i * kPanelRows;
    return load_pairs_s8(sc, sc + kPanelRows);
  }
  I32x16 pair(size_t i) const {
    const std::byte* mn = chunk + Panel::kMinimaAt + 2 * i * kPanelRows;
    return load_pairs_s8(mn, mn + kPanelRows);
  }
  F32x16 scale_d() const { return load_half_row(chunk); }
  F32x16 scale_dmin() const { return load_half_row(chunk + Panel::kMinAt); }
};

template <bool kFiveBits>
struct AffineFormat {
  using Chunk = A8kChunk;
  using Panel = AffinePanel<kFiveBits>;
  using Packed = PackedAffine<kFiveBits>;
  using Expanded = ExpandedA8k<8, 4>;
  static constexpr size_t kPackedRows = kFreeUnpacking ? kAnyRows : 2;
  static constexpr int kMaxU = kFiveBits ? 31 : 15;
  // Sub-blocks in pairs where nothing but products is scarce: three sums a row, so smaller tiles
  // (rows of Q5_K at once, GMAC/s of one Zen 4 core: 7 174, 8 160; Q4_K 6 177, 7 155, 8 177).
  static constexpr bool kInPairs = kWideSums && kFreeUnpacking;
  static constexpr size_t kTile = !kInPairs ? kTileRows : kFiveBits ? 7 : 8;

  // acc: [kRows][16]; a: kRows records; w: PackedAffine or ExpandedA8k
  template <size_t kRows, class Weights>
  [[gnu::noinline]] static void multiply(const Weights& w, const Chunk* a, size_t, float* acc) {
    I32x16 sum[kRows];
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) sum[r] = zero_i32();
    if constexpr (kInPairs && kRows > 2) {
      for (size_t s = 0; s < 8; s += 2) add_sub_block_pair<kRows>(sum, w, s, a);
    } else {
      each_sub_block<Weights, 8>([&](size_t s, size_t i) {
        add_sub_block<kRows, 8, kMaxU>(sum, w.sub_block(s, i), w.scale(s), a, 32 * s, s);
      });
    }
    I32x16 mins[4];
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; ++j) mins[j] = w.pair(j);
    const F32x16 d = w.scale_d();
    const F32x16 dmin = w.scale_dmin();
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) {
      I32x16 minima = zero_i32();
#pragma GCC unroll 4
      for (size_t j = 0; j < 4; ++j) add_dot_s16(minima, mins[j], pair_at(a[r].half_sum, j));
      F32x16 t = load(acc + r * kPanelRows);
      t = fma(to_f32(sum[r]), mul(d, broadcast(a[r].d)), t);
      t = fnma(to_f32(minima), mul(dmin, broadcast(2.0f * a[r].d)), t);
      store(acc + r * kPanelRows, t);
    }
  }

  [[gnu::noinline]] static void expand(const Packed& w, size_t, Expanded& out) {
    expand_a8k<Packed, Expanded, 8, 4>(w, out);
    store(out.dmin, w.scale_dmin());
  }
};

}  // namespace
}  // namespace maglio

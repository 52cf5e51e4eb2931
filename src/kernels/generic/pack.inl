// From rows as the file stores them to panels.
//
// Packing a quantized format is almost nothing but moving dwords: four bytes of a row, whatever bit
// fields they hold, become one lane of a unit. The files store a block's low bits in just the
// dwords that panel.inl wants, and the high bits of Q6_K too; only fifth bits and six-bit scales
// are taken apart. Dwords move by transposing 4 x 4 of them in registers, vectors of 16 bytes on
// every instruction set (the compiler's own vector types): that is as fast as memory takes the
// result.
#pragma once

#include "kernels/generic/panel.inl"
#include "kernels/generic/transpose.inl"

namespace maglio {
namespace {

// The same place in each of the 16 rows of a panel; rows that are missing read as zeros.
struct PanelRows {
  const std::byte* first;
  size_t row_bytes;
  size_t n;
  // What is fetched meanwhile: the same part of the next panel, taken as one run of bytes. 16 rows
  // read side by side are more streams than the hardware follows by itself: Q8_0 packs at 5.6 GB/s
  // without it and at 9 with it, Q4_0 at 5 and 14 (Zen 4, one core; memcpy 10 to 15).
  const std::byte* next;

  static constexpr size_t kZeroBytes = 256;  // more than any block, or vector
  alignas(kUnit) static constexpr std::byte kZeros[kZeroBytes] = {};

  const std::byte* operator[](size_t lane) const {
    return lane < n ? first + lane * row_bytes : kZeros;
  }
};

// Lane r of units [0, kDwords) = the dwords at `offset` of row r. Units lie in pairs, the pairs
// kPairBytes apart.
template <size_t kDwords, size_t kPairBytes = 2 * kUnit>
void interleave(const PanelRows& rows, size_t offset, std::byte* units) {
  static_assert(kDwords % 4 == 0);
  for (size_t lane = 0; lane < kPanelRows; lane += 4) {
    for (size_t i = 0; i < kDwords; i += 4) {
      U32x4 v[4];
      prefetch(rows.next + kPanelRows * offset + lane * 4 * kDwords + 16 * i);
      for (size_t r = 0; r < 4; ++r) {
        v[r] = load_vector<U32x4>(rows[lane + r] + offset + 4 * i);
      }
      transpose<4>(v);
      for (size_t r = 0; r < 4; ++r) {
        const size_t unit_at = (i + r) / 2 * kPairBytes + (i + r) % 2 * kUnit;
        store_vector(units + unit_at + lane * 4, v[r]);
      }
    }
  }
}

// to [16] = the half (f16) at `offset` of each row.
inline void gather_halves(const PanelRows& rows, size_t offset, std::byte* to) {
  for (size_t lane = 0; lane < kPanelRows; ++lane) {
    __builtin_memcpy(to + 2 * lane, rows[lane] + offset, 2);
  }
}

// The dword at `offset` of four rows.
inline U32x4 gather_dwords(const PanelRows& rows, size_t lane, size_t offset) {
  U32x4 v;
  for (size_t r = 0; r < 4; ++r) {
    uint32_t dword = 0;
    __builtin_memcpy(&dword, rows[lane + r] + offset, sizeof dword);
    v[r] = dword;
  }
  return v;
}

// --- Fifth bits ---------------------------------------------------------------------------------
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

// --- Blocks b of 16 rows into a chunk, one overload a format -------------------------------------
// Before the units of two blocks lies one line of their scales; half of it may stay empty.
template <class Panel>
void clear_new_scales(size_t b, std::byte* chunk) {
  if (Panel::kRun == 2 && b % 2 == 0) __builtin_memset(chunk + Panel::scale_at(b), 0, kUnit);
}

inline void pack_block(BlockQ8_0, const PanelRows& blocks, size_t b, std::byte* chunk) {
  clear_new_scales<Q8_0Panel>(b, chunk);
  gather_halves(blocks, offsetof(BlockQ8_0, d), chunk + Q8_0Panel::scale_at(b));
  interleave<8>(blocks, offsetof(BlockQ8_0, q), chunk + Q8_0Panel::block_at(b));
}

template <class Panel, class Block>
void pack_nibbles(const PanelRows& blocks, size_t b, std::byte* chunk) {
  clear_new_scales<Panel>(b, chunk);
  gather_halves(blocks, offsetof(Block, d), chunk + Panel::scale_at(b));
  interleave<4>(blocks, offsetof(Block, u), chunk + Panel::block_at(b));
}
template <class Panel, class Block>
void pack_five_bits(const PanelRows& blocks, size_t b, std::byte* chunk) {
  clear_new_scales<Panel>(b, chunk);
  gather_halves(blocks, offsetof(Block, d), chunk + Panel::scale_at(b));
  pack_small_fifth_bits(blocks, offsetof(Block, high), chunk + Panel::block_at(b));
  interleave<4>(blocks, offsetof(Block, u), chunk + Panel::block_at(b) + kUnit);
}

inline void pack_block(BlockQ4_0, const PanelRows& blocks, size_t b, std::byte* chunk) {
  pack_nibbles<Q4_0Panel, BlockQ4_0>(blocks, b, chunk);
}
inline void pack_block(BlockQ4_1, const PanelRows& blocks, size_t b, std::byte* chunk) {
  pack_nibbles<Q4_1Panel, BlockQ4_1>(blocks, b, chunk);
  gather_halves(blocks, offsetof(BlockQ4_1, m), chunk + Q4_1Panel::offset_at(b));
}
inline void pack_block(BlockQ5_0, const PanelRows& blocks, size_t b, std::byte* chunk) {
  pack_five_bits<Q5_0Panel, BlockQ5_0>(blocks, b, chunk);
}
inline void pack_block(BlockQ5_1, const PanelRows& blocks, size_t b, std::byte* chunk) {
  pack_five_bits<Q5_1Panel, BlockQ5_1>(blocks, b, chunk);
  gather_halves(blocks, offsetof(BlockQ5_1, m), chunk + Q5_1Panel::offset_at(b));
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

// to [4 units] = the two bits from `bit` on of the first and the second four units, then the two
// after those: the high bits of four sub-blocks.
inline void pack_q6_k_high(const std::byte* high, uint32_t bit, std::byte* to) {
  constexpr uint32_t kTwo = 0x03030303u;
  for (size_t at = 0; at < 4 * kUnit; at += sizeof(U32x4)) {
    const U32x4 first = load_vector<U32x4>(high + at) >> bit;
    const U32x4 second = load_vector<U32x4>(high + 4 * kUnit + at) >> bit;
    store_vector(to + at, (first & kTwo) | (second & kTwo) << 2 | (first >> 2 & kTwo) << 4 |
                              (second >> 2 & kTwo) << 6);
  }
}
// to [4 units] = the nibbles at `bit` of the first four units, and above them of the second four.
inline void pack_q6_k_low(const std::byte* low, uint32_t bit, std::byte* to) {
  constexpr uint32_t kNibble = 0x0f0f0f0fu;
  for (size_t at = 0; at < 4 * kUnit; at += sizeof(U32x4)) {
    const U32x4 first = load_vector<U32x4>(low + at) >> bit;
    const U32x4 second = load_vector<U32x4>(low + 4 * kUnit + at) >> bit;
    store_vector(to + at, (first & kNibble) | (second & kNibble) << 4);
  }
}

inline void pack_block(const BlockQ6_K&, const PanelRows& blocks, size_t, std::byte* chunk) {
  gather_halves(blocks, offsetof(BlockQ6_K, d), chunk);
  __builtin_memset(chunk + kHalves, 0, Q6_KPanel::kScalesAt - kHalves);
  U8x16 sc[kPanelRows];
  for (size_t lane = 0; lane < kPanelRows; ++lane) {
    sc[lane] = load_vector<U8x16>(blocks[lane] + offsetof(BlockQ6_K, sc));
  }
  transpose<kPanelRows>(sc);
  for (size_t t = 0; t < 16; ++t) {
    store_vector(chunk + Q6_KPanel::kScalesAt + t * kPanelRows, sc[t]);
  }
  for (size_t half = 0; half < 2; ++half) {
    constexpr size_t kLow = offsetof(BlockQ6_K, low), kHigh = offsetof(BlockQ6_K, high);
    alignas(kUnit) std::byte low[2][8 * kUnit];  // low bits of quarters 0 and 2, of 1 and 3
    alignas(kUnit) std::byte high[8 * kUnit];    // of all four
    interleave<8>(blocks, kLow + 64 * half, low[0]);
    interleave<8>(blocks, kLow + 64 * half + 32, low[1]);
    interleave<8>(blocks, kHigh + 32 * half, high);
    for (uint32_t q = 0; q < 2; ++q) {  // quarters 2q and 2q + 1
      std::byte* step = chunk + Q6_KPanel::kUnitsAt + (2 * half + q) * Q6_KPanel::kStepBytes;
      pack_q6_k_high(high, 4 * q, step);
      pack_q6_k_low(low[0], 4 * q, step + 4 * kUnit);
      pack_q6_k_low(low[1], 4 * q, step + 8 * kUnit);
    }
  }
}

// --- The table's entries ------------------------------------------------------------------------
template <class Block, class Panel, size_t kValues>
void pack_panel(const std::byte* rows, size_t row_bytes, size_t n, size_t k, std::byte* panel) {
  static_assert(sizeof(Block) <= PanelRows::kZeroBytes);
  const std::byte* const next = rows + kPanelRows * row_bytes;
  for (size_t c = 0; c < chunks_of(k); ++c) {
    const size_t n_blocks = values_in_chunk(k, c) / kValues;
    std::byte* chunk = panel + c * Panel::chunk_bytes(kChunk);
    for (size_t b = 0; b < n_blocks; ++b) {
      const size_t block = c * (kChunk / kValues) + b;
      const PanelRows blocks{.first = rows + block * sizeof(Block),
                             .row_bytes = row_bytes,
                             .n = n,
                             .next = next + block * kPanelRows * sizeof(Block)};
      pack_block(Block{}, blocks, b, chunk);
    }
  }
}

// Formats without blocks: panel [k][16] of the file's elements. V: a vector of them.
template <class Element, class V>
void pack_plain_panel(
    const std::byte* rows, size_t row_bytes, size_t n, size_t k, std::byte* panel) {
  constexpr size_t kLength = sizeof(V) / sizeof(Element);
  const std::byte* const next = rows + kPanelRows * row_bytes;
  const PanelRows all{rows, row_bytes, n, next};
  const size_t whole = k / kLength * kLength;
  for (size_t i = 0; i < whole; i += kLength) {
    const PanelRows at{rows + i * sizeof(Element), row_bytes, n, next};
    for (size_t line = 0; line < 4; ++line)
      prefetch(next + i * kPanelRows * sizeof(Element) + line * 64);
    for (size_t lane = 0; lane < kPanelRows; lane += kLength) {
      V v[kLength];
      for (size_t r = 0; r < kLength; ++r) v[r] = load_vector<V>(at[lane + r]);
      transpose<kLength>(v);
      for (size_t r = 0; r < kLength; ++r) {
        store_vector(panel + ((i + r) * kPanelRows + lane) * sizeof(Element), v[r]);
      }
    }
  }
  const size_t packed = whole * kPanelRows * sizeof(Element);
  __builtin_memset(panel + packed, 0, panel_bytes<PlainPanel<sizeof(Element)>>(k) - packed);
  for (size_t i = whole; i < k; ++i) {
    for (size_t lane = 0; lane < n; ++lane) {
      __builtin_memcpy(panel + (i * kPanelRows + lane) * sizeof(Element),
                       all[lane] + i * sizeof(Element), sizeof(Element));
    }
  }
}

}  // namespace
}  // namespace maglio

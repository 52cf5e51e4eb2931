// From rows as the file stores them to panels, and back to the values of one row.
//
// Plain integer code, run once per weight at load. The layouts are those of panel.inl; the bit
// fields of the file's blocks are read by quant/unpack.h.
#pragma once

#include "kernels/generic/panel.inl"
#include "quant/unpack.h"

namespace maglio {
namespace {

inline uint32_t load_u32(const void* p) {
  uint32_t x = 0;
  __builtin_memcpy(&x, p, sizeof x);
  return x;
}
inline void store_u32(std::byte* p, uint32_t x) {
  __builtin_memcpy(p, &x, sizeof x);
}
inline void store_half_at(std::byte* p, size_t lane, Half h) {
  __builtin_memcpy(p + 2 * lane, &h, 2);
}
inline float load_half_at(const std::byte* p, size_t lane) {
  Half h{};
  __builtin_memcpy(&h, p + 2 * lane, 2);
  return to_float(h);
}
inline std::byte* unit_lane(std::byte* units, size_t unit, size_t lane) {
  return units + unit * kUnit + lane * 4;
}
inline uint32_t unit_lane(const std::byte* units, size_t unit, size_t lane) {
  return load_u32(units + unit * kUnit + lane * 4);
}

// Four values of four bits each (one group) in a dword, from bytes that may have higher bits.
constexpr uint32_t kLowNibbles = 0x0f0f0f0fu;
constexpr uint32_t kBitOfEach = 0x01010101u;

// Bit g of byte j = bit 4 of value 4g + j, for the 8 groups of u [32].
inline uint32_t fifth_bits(const uint8_t* u) {
  uint32_t bits = 0;
  for (uint32_t g = 0; g < 8; ++g) bits |= ((load_u32(u + 4 * g) >> 4) & kBitOfEach) << g;
  return bits;
}

// The bytes of group values: low nibble of `units` at `unit`, or its high one, and bit g of high.
inline void read_group(uint32_t nibbles, bool upper, uint32_t high, size_t g, uint8_t* out) {
  const uint32_t low = (upper ? nibbles >> 4 : nibbles) & kLowNibbles;
  const uint32_t value = low | (((high >> g) & kBitOfEach) << 4);
  __builtin_memcpy(out, &value, sizeof value);
}

// --- One row's block into its lane of a chunk, one overload a format
// -------------------------------- n: blocks in the chunk; b: this one.
inline void pack_block(const BlockQ8_0& block, size_t b, size_t lane, std::byte* chunk) {
  store_half_at(chunk + Q8_0Panel::scale_at(b), lane, block.d);
  std::byte* units = chunk + Q8_0Panel::block_at(b);
  for (size_t g = 0; g < 8; ++g) store_u32(unit_lane(units, g, lane), load_u32(block.q + 4 * g));
}

// u: [32]; nibbles of group g and g + 4 in one unit.
inline void pack_small_nibbles(const uint8_t* u, size_t lane, std::byte* units) {
  for (size_t g = 0; g < 4; ++g) {
    const uint32_t low = load_u32(u + 4 * g) & kLowNibbles;
    const uint32_t high = load_u32(u + 4 * g + 16) & kLowNibbles;
    store_u32(unit_lane(units, g, lane), low | (high << 4));
  }
}

template <class Panel, class Block>
void pack_nibble_block(const Block& block, size_t b, size_t lane, std::byte* chunk) {
  uint8_t u[32];
  unpack_integers(block, u);
  store_half_at(chunk + Panel::scale_at(b), lane, block.d);
  pack_small_nibbles(u, lane, chunk + Panel::block_at(b));
}
template <class Panel, class Block>
void pack_five_bit_block(const Block& block, size_t b, size_t lane, std::byte* chunk) {
  uint8_t u[32];
  unpack_integers(block, u);
  std::byte* units = chunk + Panel::block_at(b);
  store_half_at(chunk + Panel::scale_at(b), lane, block.d);
  store_u32(unit_lane(units, 0, lane), fifth_bits(u));
  pack_small_nibbles(u, lane, units + kUnit);
}

inline void pack_block(const BlockQ4_0& block, size_t b, size_t lane, std::byte* chunk) {
  pack_nibble_block<Q4_0Panel>(block, b, lane, chunk);
}
inline void pack_block(const BlockQ4_1& block, size_t b, size_t lane, std::byte* chunk) {
  pack_nibble_block<Q4_1Panel>(block, b, lane, chunk);
  store_half_at(chunk + Q4_1Panel::offset_at(b), lane, block.m);
}
inline void pack_block(const BlockQ5_0& block, size_t b, size_t lane, std::byte* chunk) {
  pack_five_bit_block<Q5_0Panel>(block, b, lane, chunk);
}
inline void pack_block(const BlockQ5_1& block, size_t b, size_t lane, std::byte* chunk) {
  pack_five_bit_block<Q5_1Panel>(block, b, lane, chunk);
  store_half_at(chunk + Q5_1Panel::offset_at(b), lane, block.m);
}

template <bool kFiveBits, class Block>
void pack_affine_block(const Block& block, size_t lane, std::byte* chunk) {
  using Panel = AffinePanel<kFiveBits>;
  uint8_t u[kChunk];
  uint8_t sc[kChunkBlocks];
  uint8_t mn[kChunkBlocks];
  unpack_integers(block, u);
  unpack_scales(block.scales, sc, mn);
  store_half_at(chunk, lane, block.d);
  store_half_at(chunk + Panel::kMinAt, lane, block.dmin);
  for (size_t s = 0; s < kChunkBlocks; ++s) {
    chunk[Panel::kScalesAt + s * kPanelRows + lane] = std::byte{sc[s]};
    chunk[Panel::kMinimaAt + s * kPanelRows + lane] = std::byte{mn[s]};
  }
  for (size_t j = 0; j < 4; ++j) {
    const uint8_t* first = u + 64 * j;
    std::byte* pair = chunk + Panel::kPairsAt + j * Panel::kPairBytes;
    if constexpr (kFiveBits) {
      store_u32(unit_lane(pair, 0, lane), fifth_bits(first));
      store_u32(unit_lane(pair, 1, lane), fifth_bits(first + 32));
    }
    for (size_t g = 0; g < 8; ++g) {
      const uint32_t low = load_u32(first + 4 * g) & kLowNibbles;
      const uint32_t high = load_u32(first + 32 + 4 * g) & kLowNibbles;
      store_u32(unit_lane(pair + Panel::kNibblesAt, g, lane), low | (high << 4));
    }
  }
}
inline void pack_block(const BlockQ4_K& block, size_t, size_t lane, std::byte* chunk) {
  pack_affine_block<false>(block, lane, chunk);
}
inline void pack_block(const BlockQ5_K& block, size_t, size_t lane, std::byte* chunk) {
  pack_affine_block<true>(block, lane, chunk);
}

inline void pack_block(const BlockQ6_K& block, size_t, size_t lane, std::byte* chunk) {
  uint8_t u[kChunk];
  unpack_integers(block, u);
  store_half_at(chunk, lane, block.d);
  for (size_t t = 0; t < 16; ++t) {
    chunk[Q6_KPanel::kScalesAt + t * kPanelRows + lane] = static_cast<std::byte>(block.sc[t]);
  }
  for (size_t step = 0; step < 8; ++step) {
    std::byte* units = chunk + Q6_KPanel::kUnitsAt + step * Q6_KPanel::kStepBytes;
    for (size_t i = 0; i < 2; ++i) {
      const uint8_t* group = u + 128 * (step / 4) + 4 * (2 * (step % 4) + i);  // of quarter 0
      uint32_t q[4];
      uint32_t high = 0;
      for (uint32_t t = 0; t < 4; ++t) {
        q[t] = load_u32(group + 32 * t);
        high |= ((q[t] >> 4) & 0x03030303u) << (2 * t);
        q[t] &= kLowNibbles;
      }
      store_u32(unit_lane(units, i, lane), q[0] | (q[2] << 4));
      store_u32(unit_lane(units, 2 + i, lane), q[1] | (q[3] << 4));
      store_u32(unit_lane(units, 4 + i, lane), high);
    }
  }
}

// --- The values of one lane of a chunk, one overload a format
// --------------------------------------- The operations and their order are dequantization's
// (quant/codec.h).
inline void unpack_chunk(BlockQ8_0, const std::byte* chunk, size_t n, size_t lane, float* out) {
  for (size_t b = 0; b < n; ++b) {
    const float d = load_half_at(chunk + Q8_0Panel::scale_at(b), lane);
    for (size_t i = 0; i < 32; ++i) {
      const uint32_t group = unit_lane(chunk + Q8_0Panel::block_at(b), i / 4, lane);
      out[32 * b + i] = d * static_cast<float>(static_cast<int8_t>(group >> (8 * (i % 4))));
    }
  }
}

// kZero is subtracted from the integers; with an offset in the panel it is added after the product.
template <class Panel, bool kFiveBits, bool kWithOffset, int kZero>
void unpack_small_chunk(const std::byte* chunk, size_t n, size_t lane, float* out) {
  for (size_t b = 0; b < n; ++b) {
    const float d = load_half_at(chunk + Panel::scale_at(b), lane);
    const std::byte* units = chunk + Panel::block_at(b);
    const uint32_t high = kFiveBits ? unit_lane(units, 0, lane) : 0;
    if constexpr (kFiveBits) units += kUnit;
    uint8_t u[32];
    for (size_t g = 0; g < 8; ++g) {
      read_group(unit_lane(units, g % 4, lane), g >= 4, high, g, u + 4 * g);
    }
    for (size_t i = 0; i < 32; ++i) out[32 * b + i] = d * static_cast<float>(u[i] - kZero);
    if constexpr (kWithOffset) {
      const float m = load_half_at(chunk + Panel::offset_at(b), lane);
      for (size_t i = 0; i < 32; ++i) out[32 * b + i] += m;
    }
  }
}
inline void unpack_chunk(BlockQ4_0, const std::byte* chunk, size_t n, size_t lane, float* out) {
  unpack_small_chunk<Q4_0Panel, false, false, 8>(chunk, n, lane, out);
}
inline void unpack_chunk(BlockQ4_1, const std::byte* chunk, size_t n, size_t lane, float* out) {
  unpack_small_chunk<Q4_1Panel, false, true, 0>(chunk, n, lane, out);
}
inline void unpack_chunk(BlockQ5_0, const std::byte* chunk, size_t n, size_t lane, float* out) {
  unpack_small_chunk<Q5_0Panel, true, false, 16>(chunk, n, lane, out);
}
inline void unpack_chunk(BlockQ5_1, const std::byte* chunk, size_t n, size_t lane, float* out) {
  unpack_small_chunk<Q5_1Panel, true, true, 0>(chunk, n, lane, out);
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

inline void unpack_chunk(
    const BlockQ6_K&, const std::byte* chunk, size_t, size_t lane, float* out) {
  const float d = load_half_at(chunk, lane);
  for (size_t i = 0; i < kChunk; ++i) {
    const size_t quarter = i % 128 / 32;
    const size_t g = i % 32 / 4;
    const size_t step = i / 128 * 4 + g / 2;
    const std::byte* units = chunk + Q6_KPanel::kUnitsAt + step * Q6_KPanel::kStepBytes;
    const uint32_t shift = static_cast<uint32_t>(8 * (i % 4));
    const uint32_t nibbles = unit_lane(units, 2 * (quarter % 2) + g % 2, lane) >> shift;
    const uint32_t high = unit_lane(units, 4 + g % 2, lane) >> (shift + 2 * quarter);
    const uint32_t u = ((quarter < 2 ? nibbles : nibbles >> 4) & 15u) | ((high & 3u) << 4);
    const auto sc = static_cast<int8_t>(chunk[Q6_KPanel::kScalesAt + i / 16 * kPanelRows + lane]);
    out[i] = d * static_cast<float>(sc) * static_cast<float>(static_cast<int32_t>(u) - 32);
  }
}

// --- The table's entries ------------------------------------------------------------------------
template <class Block, class Panel, size_t kValues>
void pack_panel(const std::byte* rows, size_t row_bytes, size_t n, size_t k, std::byte* panel) {
  __builtin_memset(panel, 0, panel_bytes<Panel>(k));
  for (size_t c = 0; c < chunks_of(k); ++c) {
    const size_t n_blocks = values_in_chunk(k, c) / kValues;
    std::byte* chunk = panel + c * Panel::chunk_bytes(kChunk);
    for (size_t lane = 0; lane < n; ++lane) {
      const std::byte* blocks = rows + lane * row_bytes + c * (kChunk / kValues) * sizeof(Block);
      for (size_t b = 0; b < n_blocks; ++b) {
        pack_block(*reinterpret_cast<const Block*>(blocks + b * sizeof(Block)), b, lane, chunk);
      }
    }
  }
}

template <class Block, class Panel, size_t kValues>
void unpack_row(const std::byte* panel, size_t lane, size_t k, float* out) {
  for (size_t c = 0; c < chunks_of(k); ++c) {
    unpack_chunk(Block{}, panel + c * Panel::chunk_bytes(kChunk), values_in_chunk(k, c) / kValues,
                 lane, out + c * kChunk);
  }
}

// Formats without blocks: panel [k][16] of the file's elements.
template <class Element>
void pack_plain_panel(
    const std::byte* rows, size_t row_bytes, size_t n, size_t k, std::byte* panel) {
  __builtin_memset(panel, 0, panel_bytes<PlainPanel<sizeof(Element)>>(k));
  for (size_t i = 0; i < k; ++i) {
    for (size_t lane = 0; lane < n; ++lane) {
      __builtin_memcpy(panel + (i * kPanelRows + lane) * sizeof(Element),
                       rows + lane * row_bytes + i * sizeof(Element), sizeof(Element));
    }
  }
}

inline float to_float(float x) {
  return x;
}

template <class Element>
void unpack_plain_row(const std::byte* panel, size_t lane, size_t k, float* out) {
  for (size_t i = 0; i < k; ++i) {
    Element e{};
    __builtin_memcpy(&e, panel + (i * kPanelRows + lane) * sizeof(Element), sizeof(Element));
    out[i] = to_float(e);
  }
}

}  // namespace
}  // namespace maglio

// The values of one row of a panel: what an embedding that is kept in panels is read with.
//
// Plain code. The operations and their order are dequantization's (quant/codec.h).
#pragma once

#include "kernels/generic/panel.inl"

namespace maglio {
namespace {

inline uint32_t load_u32(const void* p) {
  uint32_t x = 0;
  __builtin_memcpy(&x, p, sizeof x);
  return x;
}
inline float load_half_at(const std::byte* p, size_t lane) {
  Half h{};
  __builtin_memcpy(&h, p + 2 * lane, 2);
  return to_float(h);
}
inline uint32_t unit_lane(const std::byte* units, size_t unit, size_t lane) {
  return load_u32(units + unit * kUnit + lane * 4);
}

// Four values of four bits each (one group) in a dword, from bytes that may have higher bits.
constexpr uint32_t kLowNibbles = 0x0f0f0f0fu;
constexpr uint32_t kBitOfEach = 0x01010101u;

// The bytes of group values: low nibble of `units` at `unit`, or its high one, and bit g of high.
inline void read_group(uint32_t nibbles, bool upper, uint32_t high, size_t g, uint8_t* out) {
  const uint32_t low = (upper ? nibbles >> 4 : nibbles) & kLowNibbles;
  const uint32_t value = low | (((high >> g) & kBitOfEach) << 4);
  __builtin_memcpy(out, &value, sizeof value);
}

// --- The values of one lane of a chunk, one overload a format
// ------------------------------------------- n: blocks in the chunk
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
    const std::byte* step = chunk + Q6_KPanel::kUnitsAt + i / 64 * Q6_KPanel::kStepBytes;
    const size_t sub = i % 64 / 16;
    const size_t g = i % 16 / 4;
    const uint32_t shift = static_cast<uint32_t>(8 * (i % 4));
    const uint32_t high = unit_lane(step, g, lane) >> (shift + 2 * sub);
    const uint32_t nibbles = unit_lane(step, 4 + sub / 2 * 4 + g, lane) >> (shift + sub % 2 * 4);
    const uint32_t u = (nibbles & 15u) | ((high & 3u) << 4);
    const auto sc = static_cast<int8_t>(chunk[Q6_KPanel::kScalesAt + i / 16 * kPanelRows + lane]);
    out[i] = d * static_cast<float>(sc) * static_cast<float>(static_cast<int32_t>(u) - 32);
  }
}

// --- The table's entries ------------------------------------------------------------------------
template <class Block, class Panel, size_t kValues>
void unpack_row(const std::byte* panel, size_t lane, size_t k, float* out) {
  for (size_t c = 0; c < chunks_of(k); ++c) {
    unpack_chunk(Block{}, panel + c * Panel::chunk_bytes(kChunk), values_in_chunk(k, c) / kValues,
                 lane, out + c * kChunk);
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

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

}  // namespace
}  // namespace maglio

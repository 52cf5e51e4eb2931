#include "quant/blocks32.h"

#include <algorithm>
#include <cmath>

#include "quant/unpack.h"

namespace maglio {
namespace {

// out_i = d * (u_i - zero)
template <class Block>
void dequantize_centred(const Block& block, int zero, float* out) {
  uint8_t u[kBlockValues];
  unpack_integers(block, u);
  const float d = to_float(block.d);
  for (int i = 0; i < kBlockValues; ++i) out[i] = d * static_cast<float>(u[i] - zero);
}

// out_i = d * u_i + m
template <class Block>
void dequantize_offset(const Block& block, float* out) {
  uint8_t u[kBlockValues];
  unpack_integers(block, u);
  const float d = to_float(block.d);
  const float m = to_float(block.m);
  for (int i = 0; i < kBlockValues; ++i) out[i] = d * static_cast<float>(u[i]) + m;
}

// The first value of the largest magnitude, with its sign.
float extreme(const float* values) {
  float best = 0.0f;
  for (int i = 0; i < kBlockValues; ++i) {
    if (std::fabs(values[i]) > std::fabs(best)) best = values[i];
  }
  return best;
}

float inverse(float d) {
  return d != 0.0f ? 1.0f / d : 0.0f;
}

void pack_nibbles(const uint8_t* u, uint8_t* bytes) {
  for (int i = 0; i < 16; ++i) {
    bytes[i] = static_cast<uint8_t>((u[i] & 0x0f) | ((u[i + 16] & 0x0f) << 4));
  }
}

void pack_high_bits(const uint8_t* u, uint8_t* high) {
  std::fill_n(high, 4, uint8_t{0});
  for (int i = 0; i < kBlockValues; ++i) {
    high[i / 8] = static_cast<uint8_t>(high[i / 8] | ((u[i] >> 4) << (i % 8)));
  }
}

// Scale such that the extreme value becomes u = 0 exactly: the side with one integer more.
// Truncation after adding a half rounds, because the sum is not negative.
Half quantize_centred(const float* values, int zero, uint8_t* u) {
  const float d = extreme(values) / static_cast<float>(-zero);
  const float id = inverse(d);
  for (int i = 0; i < kBlockValues; ++i) {
    const int q = static_cast<int>(values[i] * id + (static_cast<float>(zero) + 0.5f));
    u[i] = static_cast<uint8_t>(std::min(q, 2 * zero - 1));
  }
  return to_half(d);
}

struct Affine {
  Half d;
  Half m;
};

// The range [min, max] onto [0, levels].
Affine quantize_affine(const float* values, int levels, uint8_t* u) {
  const auto [low, high] = std::minmax_element(values, values + kBlockValues);
  const float d = (*high - *low) / static_cast<float>(levels);
  const float id = inverse(d);
  for (int i = 0; i < kBlockValues; ++i) {
    const int q = static_cast<int>((values[i] - *low) * id + 0.5f);
    u[i] = static_cast<uint8_t>(std::min(q, levels));
  }
  return {to_half(d), to_half(*low)};
}

}  // namespace

void dequantize(const BlockQ8_0& block, float* out) {
  const float d = to_float(block.d);
  for (int i = 0; i < kBlockValues; ++i) out[i] = d * static_cast<float>(block.q[i]);
}

void dequantize(const BlockQ4_0& block, float* out) {
  dequantize_centred(block, 8, out);
}

void dequantize(const BlockQ4_1& block, float* out) {
  dequantize_offset(block, out);
}

void dequantize(const BlockQ5_0& block, float* out) {
  dequantize_centred(block, 16, out);
}

void dequantize(const BlockQ5_1& block, float* out) {
  dequantize_offset(block, out);
}

void quantize(const float* values, BlockQ8_0& block) {
  const float d = std::fabs(extreme(values)) / 127.0f;
  const float id = inverse(d);
  block.d = to_half(d);
  for (int i = 0; i < kBlockValues; ++i) {
    block.q[i] = static_cast<int8_t>(std::round(values[i] * id));  // halves away from zero
  }
}

void quantize(const float* values, BlockQ4_0& block) {
  uint8_t u[kBlockValues];
  block.d = quantize_centred(values, 8, u);
  pack_nibbles(u, block.u);
}

void quantize(const float* values, BlockQ4_1& block) {
  uint8_t u[kBlockValues];
  const Affine a = quantize_affine(values, 15, u);
  block.d = a.d;
  block.m = a.m;
  pack_nibbles(u, block.u);
}

void quantize(const float* values, BlockQ5_0& block) {
  uint8_t u[kBlockValues];
  block.d = quantize_centred(values, 16, u);
  pack_nibbles(u, block.u);
  pack_high_bits(u, block.high);
}

void quantize(const float* values, BlockQ5_1& block) {
  uint8_t u[kBlockValues];
  const Affine a = quantize_affine(values, 31, u);
  block.d = a.d;
  block.m = a.m;
  pack_nibbles(u, block.u);
  pack_high_bits(u, block.high);
}

}  // namespace maglio

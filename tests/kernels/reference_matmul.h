// A plain matrix product in the order that docs/numerics.md states, one output at a time, from the
// file's own blocks: what every kernel is compared with, bit for bit. Shares no code with the
// kernels but the reading of a block's bit fields (quant/unpack.h, which has goldens of its own).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "quant/unpack.h"
#include "tensor/dtype.h"
#include "tensor/half.h"

namespace maglio::reference {

// x_i = scale_i * q_i, with the pieces of scale that the formats use.
struct Activations {
  std::vector<int32_t> q;
  std::vector<float> d;    // of each block: 32 values, a8k: 256
  std::vector<int32_t> m;  // a8: of each 16 values; a8k: of each 32
};

inline float largest(const float* x, size_t n) {
  float a = 0;
  for (size_t i = 0; i < n; ++i) a = std::max(a, std::fabs(x[i]));
  return a;
}

inline int32_t quantized(float x, float inverse, float limit) {
  float y = x * inverse;
  if (y > limit) y = limit;
  if (y < -limit) y = -limit;
  return static_cast<int32_t>(std::nearbyintf(y));
}

inline Activations quantize_a16(const float* x, size_t k) {
  Activations a;
  for (size_t b = 0; b < (k + 31) / 32; ++b) {
    const size_t n = std::min<size_t>(32, k - 32 * b);
    const float amax = largest(x + 32 * b, n);
    const float d = amax < 1e-30f ? 0.0f : amax / 32767.0f;
    a.d.push_back(d);
    for (size_t i = 0; i < n; ++i) {
      a.q.push_back(d > 0 ? quantized(x[32 * b + i], 1.0f / d, 32767.0f) : 0);
    }
  }
  return a;
}

// Blocks of `block` values with an integer of at most `levels` for each `sub` of them.
inline Activations quantize_two_levels(
    const float* x, size_t k, size_t block, size_t sub, int levels) {
  Activations a;
  const auto top = static_cast<float>(levels);
  for (size_t b = 0; b < k / block; ++b) {
    const float amax = largest(x + block * b, block);
    const float d = amax < 1e-30f ? 0.0f : amax / (127.0f * top);
    a.d.push_back(d);
    for (size_t s = 0; s < block / sub; ++s) {
      const float* values = x + block * b + sub * s;
      float m = 1;
      if (d > 0) m = std::min(std::max(std::ceil(largest(values, sub) * (top / amax)), 1.0f), top);
      a.m.push_back(static_cast<int32_t>(m));
      for (size_t i = 0; i < sub; ++i) {
        a.q.push_back(d > 0 ? quantized(values[i], 1.0f / (d * m), 127.0f) : 0);
      }
    }
  }
  return a;
}

template <class Block>
std::vector<Block> blocks_of(const std::byte* row, size_t n) {
  std::vector<Block> blocks(n);
  std::memcpy(blocks.data(), row, n * sizeof(Block));
  return blocks;
}

inline float dot_plain(DType dtype, const std::byte* row, const float* x, size_t k) {
  float acc = 0;
  for (size_t i = 0; i < k; ++i) {
    float w = 0;
    if (dtype == DType::F32) {
      std::memcpy(&w, row + 4 * i, 4);
    } else {
      Half half{};
      std::memcpy(&half, row + 2 * i, 2);
      w = to_float(half);
    }
    acc = std::fmaf(w, x[i], acc);
  }
  return acc;
}

// The integers of block b in order, minus the format's zero point.
inline std::vector<int32_t> integers(const BlockQ8_0& block) {
  return {block.q, block.q + 32};
}
template <class Block>
std::vector<int32_t> integers_minus(const Block& block, size_t n, int32_t zero) {
  std::vector<uint8_t> u(n);
  unpack_integers(block, u.data());
  std::vector<int32_t> w;
  for (uint8_t ui : u) w.push_back(ui - zero);
  return w;
}
inline std::vector<int32_t> integers(const BlockQ4_0& block) {
  return integers_minus(block, 32, 8);
}
inline std::vector<int32_t> integers(const BlockQ4_1& block) {
  return integers_minus(block, 32, 0);
}
inline std::vector<int32_t> integers(const BlockQ5_0& block) {
  return integers_minus(block, 32, 16);
}
inline std::vector<int32_t> integers(const BlockQ5_1& block) {
  return integers_minus(block, 32, 0);
}
inline std::vector<int32_t> integers(const BlockQ4_K& block) {
  return integers_minus(block, 256, 0);
}
inline std::vector<int32_t> integers(const BlockQ5_K& block) {
  return integers_minus(block, 256, 0);
}
inline std::vector<int32_t> integers(const BlockQ6_K& block) {
  return integers_minus(block, 256, 32);
}

template <class Block>
float dot_a16(const std::byte* row, const float* x, size_t k) {
  const Activations a = quantize_a16(x, k);
  const auto blocks = blocks_of<Block>(row, k / 32);
  float acc = 0;
  for (size_t b = 0; b < k / 32; ++b) {
    const auto w = integers(blocks[b]);
    int64_t product = 0;
    int64_t sum = 0;
    for (size_t i = 0; i < 32; ++i) {
      product += static_cast<int64_t>(w[i]) * a.q[32 * b + i];
      sum += a.q[32 * b + i];
    }
    acc = std::fmaf(static_cast<float>(product), to_float(blocks[b].d) * a.d[b], acc);
    if constexpr (requires { blocks[b].m; }) {
      acc = std::fmaf(to_float(blocks[b].m), static_cast<float>(sum) * a.d[b], acc);
    }
  }
  return acc;
}

// Blocks of 32 weights, counted in 2^-10 of the power of two below the largest of them.
inline float dot_bf16(const std::byte* row, const float* x, size_t k) {
  const Activations a = quantize_a16(x, k);
  float acc = 0;
  for (size_t b = 0; b < (k + 31) / 32; ++b) {
    const size_t n = std::min<size_t>(32, k - 32 * b);
    std::vector<float> w(n);
    for (size_t i = 0; i < n; ++i) {
      BFloat16 value{};
      std::memcpy(&value, row + 2 * (32 * b + i), 2);
      w[i] = to_float(value);
    }
    int exponent = -115;  // of the largest: it lies in [2^(exponent - 1), 2^exponent)
    if (largest(w.data(), n) > 0) std::frexp(largest(w.data(), n), &exponent);
    const int step = std::max(exponent, -115) - 11;
    int64_t product = 0;
    for (size_t i = 0; i < n; ++i) {
      product += std::llrint(std::ldexp(w[i], -step)) * a.q[32 * b + i];
    }
    acc = std::fmaf(static_cast<float>(product), std::ldexp(1.0f, step) * a.d[b], acc);
  }
  return acc;
}

inline float dot_q4_0(const std::byte* row, const float* x, size_t k) {
  const Activations a = quantize_two_levels(x, k, 32, 16, 127);
  const auto blocks = blocks_of<BlockQ4_0>(row, k / 32);
  float acc = 0;
  for (size_t b = 0; b < k / 32; ++b) {
    const auto w = integers(blocks[b]);
    int64_t product = 0;
    for (size_t i = 0; i < 32; ++i) {
      product += static_cast<int64_t>(w[i]) * a.q[32 * b + i] * a.m[(32 * b + i) / 16];
    }
    acc = std::fmaf(static_cast<float>(product), to_float(blocks[b].d) * a.d[b], acc);
  }
  return acc;
}

template <class Block>
float dot_affine(const std::byte* row, const float* x, size_t k) {
  const Activations a = quantize_two_levels(x, k, 256, 32, 15);
  const auto blocks = blocks_of<Block>(row, k / 256);
  float acc = 0;
  for (size_t b = 0; b < k / 256; ++b) {
    const auto u = integers(blocks[b]);
    uint8_t sc[8];
    uint8_t mn[8];
    unpack_scales(blocks[b].scales, sc, mn);
    int64_t product = 0;
    int64_t minima = 0;
    for (size_t s = 0; s < 8; ++s) {
      const int32_t m = a.m[8 * b + s];
      int64_t sum = 0;
      for (size_t i = 32 * s; i < 32 * (s + 1); ++i) {
        product += static_cast<int64_t>(u[i]) * a.q[256 * b + i] * m * sc[s];
        sum += a.q[256 * b + i];
      }
      minima += mn[s] * ((m * sum + 1) >> 1);
    }
    acc = std::fmaf(static_cast<float>(product), to_float(blocks[b].d) * a.d[b], acc);
    acc = std::fmaf(-static_cast<float>(minima), to_float(blocks[b].dmin) * (2.0f * a.d[b]), acc);
  }
  return acc;
}

inline float dot_q6_k(const std::byte* row, const float* x, size_t k) {
  const Activations a = quantize_two_levels(x, k, 256, 32, 15);
  const auto blocks = blocks_of<BlockQ6_K>(row, k / 256);
  float acc = 0;
  for (size_t b = 0; b < k / 256; ++b) {
    const auto w = integers(blocks[b]);
    int64_t product = 0;
    for (size_t i = 0; i < 256; ++i) {
      product += static_cast<int64_t>(w[i]) * a.q[256 * b + i] * a.m[8 * b + i / 32] *
                 blocks[b].sc[i / 16];
    }
    acc = std::fmaf(static_cast<float>(product), to_float(blocks[b].d) * a.d[b], acc);
  }
  return acc;
}

// One output: the weight row, as the file stores it, times x [k].
inline float dot(DType dtype, const std::byte* row, const float* x, size_t k) {
  switch (dtype) {
      // clang-format off
    case DType::BF16: return dot_bf16(row, x, k);
    case DType::Q8_0: return dot_a16<BlockQ8_0>(row, x, k);
    case DType::Q4_1: return dot_a16<BlockQ4_1>(row, x, k);
    case DType::Q5_0: return dot_a16<BlockQ5_0>(row, x, k);
    case DType::Q5_1: return dot_a16<BlockQ5_1>(row, x, k);
    case DType::Q4_0: return dot_q4_0(row, x, k);
    case DType::Q4_K: return dot_affine<BlockQ4_K>(row, x, k);
    case DType::Q5_K: return dot_affine<BlockQ5_K>(row, x, k);
    case DType::Q6_K: return dot_q6_k(row, x, k);
    default: return dot_plain(dtype, row, x, k);
      // clang-format on
  }
}

}  // namespace maglio::reference

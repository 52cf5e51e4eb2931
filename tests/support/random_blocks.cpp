#include "support/random_blocks.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "tensor/half.h"

namespace maglio::test {
namespace {

// Where a block keeps its f16 numbers, and what spread its weights have at a scale of 1.
struct BlockShape {
  DType dtype;
  int scale_at;         // byte offset of d
  int minimum_at;       // byte offset of m or dmin; -1: the format has none
  float minimum_ratio;  // of the scale, so that the weights are centred
  float spread;
};

constexpr BlockShape kBlocks[] = {
    {DType::Q8_0, 0, -1, 0.0f, 74.0f},  {DType::Q4_0, 0, -1, 0.0f, 4.6f},
    {DType::Q4_1, 0, 2, -7.5f, 4.6f},   {DType::Q5_0, 0, -1, 0.0f, 9.2f},
    {DType::Q5_1, 0, 2, -15.5f, 9.2f},  {DType::Q4_K, 0, 2, 7.5f, 215.0f},
    {DType::Q5_K, 0, 2, 15.5f, 440.0f}, {DType::Q6_K, 208, -1, 0.0f, 1366.0f},
};

template <class T>
void store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

void fill_with_bits(std::byte* at, size_t n, Dice& dice) {
  for (size_t i = 0; i < n; i += sizeof(uint64_t)) {
    const uint64_t bits = dice.bits();
    std::memcpy(at + i, &bits, std::min(n - i, sizeof bits));
  }
}

void store_float(DType dtype, std::byte* at, float x) {
  if (dtype == DType::F32) store(at, x);
  if (dtype == DType::F16) store(at, to_half(x));
  if (dtype == DType::BF16) store(at, to_bfloat16(x));
}

}  // namespace

uint64_t Dice::bits() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

float Dice::uniform() {
  return static_cast<float>(bits() >> 40) * 0x1p-23f - 1.0f;
}

std::vector<std::byte> random_weights(DType dtype, size_t n, float spread, Dice& dice) {
  assert(is_weight_format(dtype));
  const DTypeInfo& info = dtype_info(dtype);
  std::vector<std::byte> bytes(row_bytes(dtype, n));
  if (info.block_size == 1) {
    constexpr float kUniformSpread = 0.577f;  // of [-1, 1)
    for (size_t i = 0; i < n; ++i) {
      store_float(dtype, bytes.data() + i * info.block_bytes,
                  dice.uniform() * spread / kUniformSpread);
    }
    return bytes;
  }
  const BlockShape& shape = *std::ranges::find(kBlocks, dtype, &BlockShape::dtype);
  fill_with_bits(bytes.data(), bytes.size(), dice);
  for (size_t at = 0; at < bytes.size(); at += info.block_bytes) {
    const float scale = spread / shape.spread * (1.0f + 0.5f * dice.uniform());
    store(bytes.data() + at + shape.scale_at, to_half(scale));
    if (shape.minimum_at >= 0) {
      store(bytes.data() + at + shape.minimum_at, to_half(scale * shape.minimum_ratio));
    }
  }
  return bytes;
}

}  // namespace maglio::test

#include "quant/codec.h"

#include <cassert>
#include <cstring>

#include "quant/blocks256.h"
#include "quant/blocks32.h"

namespace maglio {
namespace {

// The three formats without blocks: one value, one element.
inline void dequantize(const float& value, float* out) {
  *out = value;
}
inline void dequantize(const Half& value, float* out) {
  *out = to_float(value);
}
inline void dequantize(const BFloat16& value, float* out) {
  *out = to_float(value);
}
inline void quantize(const float* value, float& element) {
  element = *value;
}
inline void quantize(const float* value, Half& element) {
  element = to_half(*value);
}
inline void quantize(const float* value, BFloat16& element) {
  element = to_bfloat16(*value);
}

template <class Block>
void dequantize_blocks(const std::byte* row, size_t n, size_t block_values, float* out) {
  for (size_t i = 0; i < n; i += block_values, row += sizeof(Block), out += block_values) {
    Block block;
    std::memcpy(&block, row, sizeof block);
    dequantize(block, out);
  }
}

template <class Block>
void quantize_blocks(const float* values, size_t n, size_t block_values, std::byte* row) {
  for (size_t i = 0; i < n; i += block_values, row += sizeof(Block), values += block_values) {
    Block block;
    quantize(values, block);
    std::memcpy(row, &block, sizeof block);
  }
}

// Calls f with a block of the format (only its type matters).
template <class F>
void with_block_of(DType dtype, F f) {
  switch (dtype) {
      // clang-format off
    case DType::F32: return f(float{});
    case DType::F16: return f(Half{});
    case DType::BF16: return f(BFloat16{});
    case DType::Q8_0: return f(BlockQ8_0{});
    case DType::Q4_0: return f(BlockQ4_0{});
    case DType::Q4_1: return f(BlockQ4_1{});
    case DType::Q5_0: return f(BlockQ5_0{});
    case DType::Q5_1: return f(BlockQ5_1{});
    case DType::Q4_K: return f(BlockQ4_K{});
    case DType::Q5_K: return f(BlockQ5_K{});
    case DType::Q6_K: return f(BlockQ6_K{});
    // clang-format on
    default:
      assert(false && "callers check is_weight_format");
  }
}

}  // namespace

void dequantize_row(DType dtype, const std::byte* row, size_t n, float* out) {
  const size_t block_values = dtype_info(dtype).block_size;
  assert(n % block_values == 0 && "a row holds whole blocks");
  with_block_of(dtype,
                [&](auto block) { dequantize_blocks<decltype(block)>(row, n, block_values, out); });
}

void quantize_row(DType dtype, const float* values, size_t n, std::byte* row) {
  const size_t block_values = dtype_info(dtype).block_size;
  assert(n % block_values == 0 && "a row holds whole blocks");
  with_block_of(
      dtype, [&](auto block) { quantize_blocks<decltype(block)>(values, n, block_values, row); });
}

}  // namespace maglio

// The codecs of the formats with blocks of 32 values.
#pragma once

#include "quant/blocks.h"

namespace maglio {

// values, out: [32]
void dequantize(const BlockQ8_0& block, float* out);
void dequantize(const BlockQ4_0& block, float* out);
void dequantize(const BlockQ4_1& block, float* out);
void dequantize(const BlockQ5_0& block, float* out);
void dequantize(const BlockQ5_1& block, float* out);

// Byte for byte ggml's reference quantizers.
void quantize(const float* values, BlockQ8_0& block);
void quantize(const float* values, BlockQ4_0& block);
void quantize(const float* values, BlockQ4_1& block);
void quantize(const float* values, BlockQ5_0& block);
void quantize(const float* values, BlockQ5_1& block);

}  // namespace maglio

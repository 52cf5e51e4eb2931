// The codecs of the formats with super-blocks of 256 values.
#pragma once

#include "quant/blocks.h"

namespace maglio {

// values, out: [256]
void dequantize(const BlockQ4_K& block, float* out);
void dequantize(const BlockQ5_K& block, float* out);
void dequantize(const BlockQ6_K& block, float* out);

// For each sub-block a small search over scales, refined by least squares; then the sub-blocks'
// scales are rounded to their integers and every value is rounded against those.
void quantize(const float* values, BlockQ4_K& block);
void quantize(const float* values, BlockQ5_K& block);
void quantize(const float* values, BlockQ6_K& block);

}  // namespace maglio

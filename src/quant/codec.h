// Between rows of f32 and rows of a weight format.
//
// Scalar and exact: dequantize_row is what every weight means. Each value takes the operations of
// the formula in blocks.h from left to right, each rounded once: (d * sc) * u, then - (dmin * mn).
// The rows of files made elsewhere dequantize to the same bits as in ggml.
// quantize_row of the formats with blocks of 32 gives ggml's bytes; the super-block formats use a
// quantizer of their own, of the same kind and quality, without an importance matrix.
#pragma once

#include <cstddef>

#include "tensor/dtype.h"

namespace maglio {

// out: [n]. Requires: is_weight_format(dtype), n a multiple of its block, row on an even address
// (F32: a multiple of 4).
void dequantize_row(DType dtype, const std::byte* row, size_t n, float* out);

// row: row_bytes(dtype, n). Requires: as above, and every value finite.
void quantize_row(DType dtype, const float* values, size_t n, std::byte* row);

}  // namespace maglio

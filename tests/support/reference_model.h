// The forward pass a second time, as plainly as it can be written, in double precision.
//
// Direct loops over dequantized weights; no cache, no packing, no quantized activations, no blocks
// of rows. It shares with the engine the file reader and the weights' decoding, and nothing else:
// it reads the metadata and decides on pairing and norms by itself. Its own rounding is far below
// every error that is compared with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gguf/reader.h"

namespace maglio::test {

using Matrix = std::vector<std::vector<double>>;  // [row][column]

// Logits of every token, [n_tokens][vocabulary]. window: a token sees the last so many positions,
// itself included; 0: all before it.
Matrix reference_logits(const gguf::File& file, std::span<const int32_t> ids, size_t window = 0);

// Root mean square of the difference, over the standard deviation of the reference.
double relative_error(std::span<const float> got, std::span<const double> reference);

}  // namespace maglio::test

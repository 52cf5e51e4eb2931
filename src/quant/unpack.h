// The integers of a block in the order of its values, taken out of their bit fields.
//
// Where dequantization (quant/codec.h) starts from. The kernels' packing (kernels/generic/pack.inl)
// moves bit fields as they are.
#pragma once

#include <cstdint>

#include "quant/blocks.h"

namespace maglio {

// out: [32] for the small blocks, [256] for the super-blocks; ranges as in blocks.h (4, 5, 6 bits).
void unpack_integers(const BlockQ4_0& block, uint8_t* out);
void unpack_integers(const BlockQ4_1& block, uint8_t* out);
void unpack_integers(const BlockQ5_0& block, uint8_t* out);
void unpack_integers(const BlockQ5_1& block, uint8_t* out);
void unpack_integers(const BlockQ4_K& block, uint8_t* out);
void unpack_integers(const BlockQ5_K& block, uint8_t* out);
void unpack_integers(const BlockQ6_K& block, uint8_t* out);

// The eight 6-bit scales and minima of Q4_K and Q5_K. scales: [12]; sc, mn: [8]
void unpack_scales(const uint8_t* scales, uint8_t* sc, uint8_t* mn);
// Its inverse. Requires: every value below 64.
void pack_scales(const uint8_t* sc, const uint8_t* mn, uint8_t* scales);

}  // namespace maglio

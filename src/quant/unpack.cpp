#include "quant/unpack.h"

namespace maglio {
namespace {

// n bytes hold 2n values: low nibbles the first n, high nibbles the next n.
void unpack_nibbles(const uint8_t* bytes, int n, uint8_t* out) {
  for (int i = 0; i < n; ++i) {
    out[i] = bytes[i] & 0x0f;
    out[i + n] = bytes[i] >> 4;
  }
}

void unpack_five_bits(const uint8_t* nibbles, const uint8_t* high, uint8_t* out) {
  unpack_nibbles(nibbles, 16, out);
  for (int i = 0; i < 32; ++i) {
    const int bit = (high[i / 8] >> (i % 8)) & 1;
    out[i] = static_cast<uint8_t>(out[i] | (bit << 4));
  }
}

}  // namespace

void unpack_integers(const BlockQ4_0& block, uint8_t* out) {
  unpack_nibbles(block.u, 16, out);
}

void unpack_integers(const BlockQ4_1& block, uint8_t* out) {
  unpack_nibbles(block.u, 16, out);
}

void unpack_integers(const BlockQ5_0& block, uint8_t* out) {
  unpack_five_bits(block.u, block.high, out);
}

void unpack_integers(const BlockQ5_1& block, uint8_t* out) {
  unpack_five_bits(block.u, block.high, out);
}

void unpack_integers(const BlockQ4_K& block, uint8_t* out) {
  for (int run = 0; run < 4; ++run) unpack_nibbles(block.u + 32 * run, 32, out + 64 * run);
}

void unpack_integers(const BlockQ5_K& block, uint8_t* out) {
  for (int run = 0; run < 4; ++run) unpack_nibbles(block.u + 32 * run, 32, out + 64 * run);
  for (int sub = 0; sub < kSubBlocks; ++sub) {
    for (int i = 0; i < 32; ++i) {
      const int bit = (block.high[i] >> sub) & 1;
      uint8_t& u = out[32 * sub + i];
      u = static_cast<uint8_t>(u | (bit << 4));
    }
  }
}

void unpack_integers(const BlockQ6_K& block, uint8_t* out) {
  for (int half = 0; half < 2; ++half) {
    const uint8_t* low = block.low + 64 * half;
    const uint8_t* high = block.high + 32 * half;
    uint8_t* u = out + 128 * half;
    for (int i = 0; i < 32; ++i) {
      u[i] = static_cast<uint8_t>((low[i] & 0x0f) | ((high[i] & 3) << 4));
      u[i + 32] = static_cast<uint8_t>((low[i + 32] & 0x0f) | (((high[i] >> 2) & 3) << 4));
      u[i + 64] = static_cast<uint8_t>((low[i] >> 4) | (((high[i] >> 4) & 3) << 4));
      u[i + 96] = static_cast<uint8_t>((low[i + 32] >> 4) | (((high[i] >> 6) & 3) << 4));
    }
  }
}

void unpack_scales(const uint8_t* scales, uint8_t* sc, uint8_t* mn) {
  for (int s = 0; s < 4; ++s) {
    sc[s] = scales[s] & 63;
    mn[s] = scales[s + 4] & 63;
    sc[s + 4] = static_cast<uint8_t>((scales[s + 8] & 0x0f) | ((scales[s] >> 6) << 4));
    mn[s + 4] = static_cast<uint8_t>((scales[s + 8] >> 4) | ((scales[s + 4] >> 6) << 4));
  }
}

void pack_scales(const uint8_t* sc, const uint8_t* mn, uint8_t* scales) {
  for (int s = 0; s < 4; ++s) {
    scales[s] = static_cast<uint8_t>(sc[s] | ((sc[s + 4] >> 4) << 6));
    scales[s + 4] = static_cast<uint8_t>(mn[s] | ((mn[s + 4] >> 4) << 6));
    scales[s + 8] = static_cast<uint8_t>((sc[s + 4] & 0x0f) | ((mn[s + 4] & 0x0f) << 4));
  }
}

}  // namespace maglio

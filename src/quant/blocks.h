// The blocks that quantized weights are stored in, as they lie in a model file.
//
// A block holds 32 or 256 consecutive values of one row as small integers with one scale (and for
// some formats one offset) in f16; blocks of 256 carry an integer scale for each 16 or 32 values
// too. Little-endian, without padding; 16-bit fields lie on even addresses. In the drawings, v_i is
// value i of the block and u_i its stored unsigned integer.
// Source: block_* in ggml-common.h (llama.cpp, version in docs/numerics.md).
#pragma once

#include <cstdint>

#include "tensor/half.h"

namespace maglio {

inline constexpr int kBlockValues = 32;   // Q8_0, Q4_0, Q4_1, Q5_0, Q5_1
inline constexpr int kSuperValues = 256;  // Q4_K, Q5_K, Q6_K
inline constexpr int kSubBlocks = 8;      // of 32 values in a super-block

// v_i = d * q_i
//   byte  0  2                    34
//         [d][q_0 q_1 ...     q_31]       q: int8
struct BlockQ8_0 {
  Half d;
  int8_t q[32];
};

// v_i = d * (u_i - 8)
//   byte  0  2                    18
//         [d][u_0|u_16 ... u_15|u_31]     low nibble first half, high nibble second half
struct BlockQ4_0 {
  Half d;
  uint8_t u[16];
};

// v_i = d * u_i + m
//   byte  0  2  4                 20
//         [d][m][u_0|u_16 ... u_15|u_31]
struct BlockQ4_1 {
  Half d;
  Half m;
  uint8_t u[16];
};

// v_i = d * (u_i - 16), u_i of 5 bits: bit 4 of u_i is bit i of the dword high
//   byte  0  2      6             22
//         [d][ high ][u_0|u_16 ... u_15|u_31]
struct BlockQ5_0 {
  Half d;
  uint8_t high[4];
  uint8_t u[16];
};

// v_i = d * u_i + m, u_i of 5 bits as in Q5_0
//   byte  0  2  4      8          24
//         [d][m][ high ][u_0|u_16 ... u_15|u_31]
struct BlockQ5_1 {
  Half d;
  Half m;
  uint8_t high[4];
  uint8_t u[16];
};

// v_i = d * sc_s * u_i - dmin * mn_s, s = i / 32; sc and mn of 6 bits
//   byte  0  2     4          16                 144
//         [d][dmin][ scales 12 ][ u: 4 runs of 32 bytes ]
// Run j holds sub-block 2j in its low nibbles and 2j + 1 in its high ones. Scales, two bits high:
//   bytes 0-3   sc_0..3 in bits 0-5, bits 4-5 of sc_4..7 in bits 6-7
//   bytes 4-7   mn_0..3 in bits 0-5, bits 4-5 of mn_4..7 in bits 6-7
//   bytes 8-11  bits 0-3 of sc_4..7 in the low nibble, of mn_4..7 in the high one
struct BlockQ4_K {
  Half d;
  Half dmin;
  uint8_t scales[12];
  uint8_t u[128];
};

// As Q4_K with u_i of 5 bits: bit 4 of u_i is bit s of byte i mod 32 of high
//   byte  0  2     4          16        48                 176
//         [d][dmin][ scales 12 ][ high 32 ][ u: 4 runs of 32 bytes ]
struct BlockQ5_K {
  Half d;
  Half dmin;
  uint8_t scales[12];
  uint8_t high[32];
  uint8_t u[128];
};

// v_i = d * sc_t * (u_i - 32), t = i / 16; u_i of 6 bits, sc int8
//   byte  0           128        192       208  210
//         [ low: 2 x 64 ][ high: 2 x 32 ][ sc 16 ][d]
// Each half of 128 values: for quarter t = 0..3 (32 values) and l = 0..31, the four low bits lie in
// byte l + 32 * (t mod 2) of low (low nibble for t < 2), the two high bits in bits 2t of byte l of
// high.
struct BlockQ6_K {
  uint8_t low[128];
  uint8_t high[64];
  int8_t sc[16];
  Half d;
};

static_assert(sizeof(BlockQ8_0) == 34 && sizeof(BlockQ4_0) == 18 && sizeof(BlockQ4_1) == 20);
static_assert(sizeof(BlockQ5_0) == 22 && sizeof(BlockQ5_1) == 24);
static_assert(sizeof(BlockQ4_K) == 144 && sizeof(BlockQ5_K) == 176 && sizeof(BlockQ6_K) == 210);

}  // namespace maglio

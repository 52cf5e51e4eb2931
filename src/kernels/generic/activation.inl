// Activations as the products read them: one record for every 256 values of every row.
//
// Records lie chunk by chunk: [ceil(k / 256)][n_rows]. A product works on one chunk of a panel for
// many rows, so its rows are neighbours, a constant distance apart. Rounding is to nearest, ties
// to even; scales stay f32. A row that holds a NaN or an infinity gets the scale NaN, and so
// NaN in every output.
#pragma once

#include "kernels/kernels.h"

namespace maglio {
namespace {

constexpr size_t kChunk = 256;      // values in a record, and in a chunk of a panel
constexpr size_t kChunkBlocks = 8;  // blocks of 32 in it
constexpr float kTiny = 1e-30f;     // a block whose largest magnitude is smaller becomes zeros
constexpr float kNotANumber = __builtin_nanf("");

constexpr size_t chunks_of(size_t k) {
  return (k + kChunk - 1) / kChunk;
}
constexpr size_t values_in_chunk(size_t k, size_t chunk) {
  const size_t left = k - chunk * kChunk;
  return left < kChunk ? left : kChunk;
}
constexpr size_t round_up_64(size_t n) {
  return (n + 63) / 64 * 64;
}

// Class f32: the values themselves.
struct F32Chunk {
  float x[kChunk];
};

// Class a16: x = d * q, q in [-32767, 32767], one d for 32 values. Inside each four values the
// order is 0, 2, 1, 3: the pairs that splitting bytes into even and odd ones yields (even_s8,
// odd_s8).
struct A16Chunk {
  float d[kChunkBlocks];
  float sum[kChunkBlocks];  // d * (the sum of q), the factor of a weight block's offset
  int16_t q[kChunk];
};

// Class a8: x = d * m * q, q in [-127, 127], one d for 32 values, one integer m in [1, 127] for 16.
struct A8Chunk {
  float d[kChunkBlocks];
  int32_t sum[kChunkBlocks];    // the sum of m * q over the 32 values
  int32_t m[2 * kChunkBlocks];  // as a pair (m, m) of int16
  int8_t q[kChunk];
};

// Class a8k: x = d * m * q, q in [-127, 127], one d for 256 values, one integer m in [1, 15]
// for 32.
struct A8kChunk {
  float d;
  int32_t unused[3];
  int16_t half_sum[kChunkBlocks];  // half of m * (the sum of 32 q), rounded up
  int32_t m[kChunkBlocks];         // as a pair (m, m) of int16
  int16_t sum[2 * kChunkBlocks];   // m * (the sum of 16 q)
  int32_t zero[2 * kChunkBlocks];  // -32 * (the sum of 16 q): what Q6_K's weights are above zero
  int8_t q[kChunk];
};
static_assert(sizeof(A16Chunk) == 576 && sizeof(A8Chunk) == 384 && sizeof(A8kChunk) == 416);

// --- One block ----------------------------------------------------------------------------------
// A block's values in 16 lanes at a time, its largest magnitude, and whether all are finite.
struct Magnitudes {
  F32x16 largest = zero_f32();
  F32x16 probe = zero_f32();  // stays zero unless a value is a NaN or infinite

  void add(F32x16 x) {
    largest = max(abs(x), largest);
    probe = fma(x, zero_f32(), probe);
  }
  float amax() const { return reduce_max(largest); }
  bool finite() const { return reduce_add(probe) == 0.0f; }
};

inline F32x16 clamp(F32x16 x, float limit) {
  return min(max(x, broadcast(-limit)), broadcast(limit));
}

inline int32_t pair_of_equal(int32_t m) {
  return m | (m << 16);
}

// The smallest integer m in [1, levels] with m * amax / levels >= a (up to a rounding).
inline int32_t multiple_of(float a, float levels_over_amax, int32_t levels) {
  const float wish = a * levels_over_amax;
  const auto down = static_cast<int32_t>(wish);
  const int32_t m = down + (static_cast<float>(down) < wish ? 1 : 0);
  return m < 1 ? 1 : m > levels ? levels : m;
}

inline void quantize_a16_block(const float* x, size_t b, A16Chunk& out) {
  const F32x16 x0 = load(x);
  const F32x16 x1 = load(x + 16);
  Magnitudes size;
  size.add(x0);
  size.add(x1);
  const float amax = size.amax();
  const float d = !size.finite() ? kNotANumber : amax < kTiny ? 0.0f : amax / 32767.0f;
  const float id = d > 0.0f ? 1.0f / d : 0.0f;
  I32x16 q0 = zero_i32();
  I32x16 q1 = zero_i32();
  if (id > 0.0f) {
    q0 = round_to_i32(clamp(mul(x0, broadcast(id)), 32767.0f));
    q1 = round_to_i32(clamp(mul(x1, broadcast(id)), 32767.0f));
  }
  out.d[b] = d;
  out.sum[b] = static_cast<float>(reduce_add_i32(add_i32(q0, q1))) * d;
  store_s16_pairs(out.q + 32 * b, q0);
  store_s16_pairs(out.q + 32 * b + 16, q1);
}

inline void quantize_a8_block(const float* x, size_t b, A8Chunk& out) {
  const F32x16 halves[2] = {load(x), load(x + 16)};
  float amax[2];
  bool finite = true;
  for (size_t h = 0; h < 2; ++h) {
    Magnitudes size;
    size.add(halves[h]);
    amax[h] = size.amax();
    finite = finite && size.finite();
  }
  const float largest = amax[0] > amax[1] ? amax[0] : amax[1];
  const float d = !finite ? kNotANumber : largest < kTiny ? 0.0f : largest / (127.0f * 127.0f);
  out.d[b] = d;
  out.sum[b] = 0;
  for (size_t h = 0; h < 2; ++h) {
    int32_t m = 1;
    I32x16 q = zero_i32();
    if (d > 0.0f) {
      m = multiple_of(amax[h], 127.0f / largest, 127);
      const F32x16 inverse = broadcast(1.0f / (d * static_cast<float>(m)));
      q = round_to_i32(clamp(mul(halves[h], inverse), 127.0f));
    }
    out.m[2 * b + h] = pair_of_equal(m);
    out.sum[b] += m * reduce_add_i32(q);
    store_s8(out.q + 32 * b + 16 * h, q);
  }
}

inline void quantize_a8k_chunk(const float* x, A8kChunk& out) {
  float amax[kChunkBlocks];
  float largest = 0.0f;
  bool finite = true;
  for (size_t s = 0; s < kChunkBlocks; ++s) {
    Magnitudes size;
    size.add(load(x + 32 * s));
    size.add(load(x + 32 * s + 16));
    amax[s] = size.amax();
    finite = finite && size.finite();
    largest = amax[s] > largest ? amax[s] : largest;
  }
  const float d = !finite ? kNotANumber : largest < kTiny ? 0.0f : largest / (127.0f * 15.0f);
  out.d = d;
  for (size_t s = 0; s < kChunkBlocks; ++s) {
    int32_t m = 1;
    I32x16 q[2] = {zero_i32(), zero_i32()};
    if (d > 0.0f) {
      m = multiple_of(amax[s], 15.0f / largest, 15);
      const F32x16 inverse = broadcast(1.0f / (d * static_cast<float>(m)));
      for (size_t h = 0; h < 2; ++h) {
        q[h] = round_to_i32(clamp(mul(load(x + 32 * s + 16 * h), inverse), 127.0f));
      }
    }
    const int32_t sums[2] = {reduce_add_i32(q[0]), reduce_add_i32(q[1])};
    const int32_t sum0 = m * sums[0];
    const int32_t sum1 = m * sums[1];
    out.zero[2 * s] = -32 * sums[0];
    out.zero[2 * s + 1] = -32 * sums[1];
    out.m[s] = pair_of_equal(m);
    out.sum[2 * s] = static_cast<int16_t>(sum0);
    out.sum[2 * s + 1] = static_cast<int16_t>(sum1);
    out.half_sum[s] = static_cast<int16_t>((sum0 + sum1 + 1) >> 1);
    store_s8(out.q + 32 * s, q[0]);
    store_s8(out.q + 32 * s + 16, q[1]);
  }
}

// --- A chunk of n <= 256 values -----------------------------------------------------------------
inline void quantize_chunk(const float* x, size_t n, F32Chunk& out) {
  for (size_t i = 0; i < kChunk; i += kLanes) {
    const size_t left = i < n ? n - i : 0;
    store(out.x + i, left >= kLanes ? load(x + i)
                     : left > 0     ? load_first(x + i, left)
                                    : zero_f32());
  }
}
inline void quantize_chunk(const float* x, size_t n, A16Chunk& out) {
  if (n < kChunk) __builtin_memset(&out, 0, sizeof out);
  for (size_t b = 0; b < n / 32; ++b) quantize_a16_block(x + 32 * b, b, out);
}
inline void quantize_chunk(const float* x, size_t n, A8Chunk& out) {
  if (n < kChunk) __builtin_memset(&out, 0, sizeof out);
  for (size_t b = 0; b < n / 32; ++b) quantize_a8_block(x + 32 * b, b, out);
}
inline void quantize_chunk(const float* x, size_t, A8kChunk& out) {
  __builtin_memset(out.unused, 0, sizeof out.unused);
  quantize_a8k_chunk(x, out);
}

// --- The table's entries ------------------------------------------------------------------------
template <class Chunk>
size_t activation_bytes(size_t n_rows, size_t k) {
  return chunks_of(k) * n_rows * sizeof(Chunk);
}

template <class Chunk>
void quantize_activations(const float* x,
                          size_t x_stride,
                          size_t n_rows,
                          size_t k,
                          size_t row_begin,
                          size_t row_end,
                          std::byte* out) {
  auto* records = reinterpret_cast<Chunk*>(out);
  for (size_t row = row_begin; row < row_end; ++row) {
    for (size_t c = 0; c < chunks_of(k); ++c) {
      quantize_chunk(x + row * x_stride + c * kChunk, values_in_chunk(k, c),
                     records[c * n_rows + row]);
    }
  }
}

template <class Chunk>
constexpr ActivationKernels activation_kernels() {
  return {.bytes = activation_bytes<Chunk>, .quantize = quantize_activations<Chunk>};
}

}  // namespace
}  // namespace maglio

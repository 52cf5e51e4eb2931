// Activations as the products read them: one record for every 256 values of every row.
//
// Records lie chunk by chunk: [ceil(k / 256)][n_rows]. A product works on one chunk of a panel for
// many rows, so its rows are neighbours, a constant distance apart. Rounding is to nearest, ties
// to even; scales stay f32. A row that holds a NaN or an infinity gets the scale NaN, and so
// NaN in every output.
#pragma once

#include "kernels/generic/transpose.inl"
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
constexpr size_t blocks_of(size_t n_values) {  // of 32
  return (n_values + 31) / 32;
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

// --- A chunk of whole blocks --------------------------------------------------------------------
// What is needed once a block (scales, inverses, sums) is computed for all blocks of a chunk at a
// time, one block in a lane: block by block, the sums across a vector cost twice as much as the
// rounding itself.

// Largest magnitudes of the chunk's kBlocks blocks, and whether all values are finite.
template <size_t kBlocks>
struct Magnitudes {
  alignas(64) float of_block[kLanes];
  bool finite;

  void measure(const float* x) {
    constexpr size_t kValues = kChunk / kBlocks;
    alignas(64) float lanes[kBlocks][kLanes];
    F32x16 probe = zero_f32();  // stays zero unless a value is a NaN or infinite
    for (size_t b = 0; b < kBlocks; ++b) {
      F32x16 largest = zero_f32();
      for (size_t i = 0; i < kValues; i += kLanes) {
        const F32x16 v = load(x + b * kValues + i);
        largest = max(abs(v), largest);
        probe = fma(v, zero_f32(), probe);
      }
      store(lanes[b], largest);
    }
    finite = reduce_add(probe) == 0.0f;
    // The bits of numbers that are not negative are in their order.
    reduce_rows<kBlocks>(lanes, of_block, [](U32x4 a, U32x4 b) { return a > b ? a : b; });
    for (size_t b = kBlocks; b < kLanes; ++b) of_block[b] = 0;
  }
};

// The integers of a chunk and, for every 16 or 32 of them, their sum.
template <size_t kBlocks, size_t kShare = 1>
struct Rounded {
  static constexpr size_t kVectors = kChunk / kLanes / kBlocks;  // of a block
  I32x16 q[kBlocks][kVectors];
  alignas(64) int32_t sums[kBlocks];

  // x times its block's inverse scale, of which kShare blocks have one. The largest values may miss
  // the end of their range by the rounding of two scales, a millionth of it: none needs clamping.
  Rounded(const float* x, const float* inverses) {
    alignas(64) int32_t lanes[kBlocks][kLanes];
    for (size_t b = 0; b < kBlocks; ++b) {
      const F32x16 inverse = broadcast(inverses[b / kShare]);
      I32x16 sum = zero_i32();
      for (size_t v = 0; v < kVectors; ++v) {
        q[b][v] = round_to_i32(mul(load(x + (b * kVectors + v) * kLanes), inverse));
        sum = add_i32(sum, q[b][v]);
      }
      store_i32(lanes[b], sum);
    }
    reduce_rows<kBlocks>(lanes, sums, [](U32x4 a, U32x4 b) { return a + b; });
  }
};

inline int32_t pair_of_equal(int32_t m) {
  return m | (m << 16);
}

// The smallest integers m in [1, levels] with m * amax / levels >= a (up to a rounding).
inline F32x16 multiples_of(F32x16 a, F32x16 levels_over_amax, float levels) {
  const F32x16 wish = mul(a, levels_over_amax);
  const I32x16 nearest = round_to_i32(wish);
  const I32x16 m = sub_i32(nearest, less(to_f32(nearest), wish));  // a true lane is -1
  return min(max(to_f32(m), broadcast(1.0f)), broadcast(levels));
}

// By block: what its values are multiplied with, and the integer part of its scale.
struct BlockScales {
  bool has_values;  // else the integers stay zero
  alignas(64) float inverse[kLanes];
  alignas(64) int32_t multiple[kLanes];
};

constexpr size_t kHalfBlocks = 2 * kChunkBlocks;

// Each class: the scales of a chunk's blocks, then its integers.
inline void set_scales(const Magnitudes<kChunkBlocks>& size, A16Chunk& out, BlockScales& s) {
  const F32x16 amax = load(size.of_block);
  const F32x16 scale = div(amax, broadcast(32767.0f));
  const F32x16 d = select(less(amax, broadcast(kTiny)), zero_f32(), scale);
  store(s.inverse, select(less(zero_f32(), d), div(broadcast(1.0f), d), zero_f32()));
  store_first(out.d, size.finite ? d : broadcast(kNotANumber), kChunkBlocks);
  s.has_values = size.finite;
}
inline void round_values(const float* x, const BlockScales& s, A16Chunk& out) {
  const Rounded<kChunkBlocks> rounded(x, s.inverse);
  for (size_t b = 0; b < kChunkBlocks; ++b) {
    out.sum[b] = static_cast<float>(rounded.sums[b]) * out.d[b];
    store_s16_pairs(out.q + 32 * b, rounded.q[b][0]);
    store_s16_pairs(out.q + 32 * b + 16, rounded.q[b][1]);
  }
}

inline void set_scales(const Magnitudes<kHalfBlocks>& size, A8Chunk& out, BlockScales& s) {
  alignas(64) float largest[kHalfBlocks], d_of_half[kHalfBlocks];
  for (size_t h = 0; h < kHalfBlocks; ++h) {
    const float a = size.of_block[h], b = size.of_block[h ^ 1];
    largest[h] = a > b ? a : b;
  }
  const F32x16 amax = load(largest);
  const I32x16 is_tiny = less(amax, broadcast(kTiny));
  const F32x16 d = select(is_tiny, zero_f32(), div(amax, broadcast(127.0f * 127.0f)));
  const F32x16 over_amax = select(is_tiny, zero_f32(), div(broadcast(127.0f), amax));
  const F32x16 m = multiples_of(load(size.of_block), over_amax, 127.0f);
  store_i32(s.multiple, round_to_i32(m));
  store(s.inverse, select(is_tiny, zero_f32(), div(broadcast(1.0f), mul(d, m))));
  store(d_of_half, size.finite ? d : broadcast(kNotANumber));
  for (size_t b = 0; b < kChunkBlocks; ++b) out.d[b] = d_of_half[2 * b];
  s.has_values = size.finite;
}
inline void round_values(const float* x, const BlockScales& s, A8Chunk& out) {
  const Rounded<kHalfBlocks> rounded(x, s.inverse);
  int32_t sums[kHalfBlocks];
  for (size_t h = 0; h < kHalfBlocks; ++h) {
    out.m[h] = pair_of_equal(s.multiple[h]);
    sums[h] = s.multiple[h] * rounded.sums[h];
    store_s8(out.q + 16 * h, rounded.q[h][0]);
  }
  for (size_t b = 0; b < kChunkBlocks; ++b) out.sum[b] = sums[2 * b] + sums[2 * b + 1];
}

inline void set_scales(const Magnitudes<kChunkBlocks>& size, A8kChunk& out, BlockScales& s) {
  float largest = 0.0f;
  for (const float a : size.of_block) largest = a > largest ? a : largest;
  out.d = !size.finite ? kNotANumber : largest < kTiny ? 0.0f : largest / (127.0f * 15.0f);
  s.has_values = out.d > 0.0f;
  if (!s.has_values) return;
  const F32x16 m = multiples_of(load(size.of_block), broadcast(15.0f / largest), 15.0f);
  store_i32(s.multiple, round_to_i32(m));
  store(s.inverse, div(broadcast(1.0f), mul(broadcast(out.d), m)));
}
inline void round_values(const float* x, const BlockScales& s, A8kChunk& out) {
  const Rounded<kHalfBlocks, 2> rounded(x, s.inverse);  // sums are wanted of every 16 values
  for (int32_t& none : out.unused) none = 0;
  for (size_t h = 0; h < kHalfBlocks; ++h) {
    out.zero[h] = -32 * rounded.sums[h];
    store_s8(out.q + 16 * h, rounded.q[h][0]);
  }
  for (size_t b = 0; b < kChunkBlocks; ++b) {
    const int32_t m = s.multiple[b];
    const int32_t sum0 = m * rounded.sums[2 * b], sum1 = m * rounded.sums[2 * b + 1];
    out.m[b] = pair_of_equal(m);
    out.sum[2 * b] = static_cast<int16_t>(sum0);
    out.sum[2 * b + 1] = static_cast<int16_t>(sum1);
    out.half_sum[b] = static_cast<int16_t>((sum0 + sum1 + 1) >> 1);
  }
}

// --- A row ---------------------------------------------------------------------------------------
constexpr size_t magnitude_blocks(const A16Chunk*) {
  return kChunkBlocks;
}
constexpr size_t magnitude_blocks(const A8Chunk*) {
  return kHalfBlocks;
}
constexpr size_t magnitude_blocks(const A8kChunk*) {
  return kChunkBlocks;
}

// k values into records `step` apart. Three loops over a few chunks: each has a long chain of
// dependent instructions, which overlaps with its neighbours' only.
template <class Chunk>
inline void quantize_row(const float* x, size_t k, Chunk* records, size_t step) {
  constexpr size_t kTogether = 4;
  alignas(64) float filled[kChunk];  // what the last chunk lacks counts as zeros
  for (size_t first = 0; first < chunks_of(k); first += kTogether) {
    const size_t left = chunks_of(k) - first;
    const size_t n = left < kTogether ? left : kTogether;
    const float* from[kTogether];
    BlockScales scales[kTogether];
    for (size_t i = 0; i < n; ++i) {
      from[i] = x + (first + i) * kChunk;
      const size_t n_values = values_in_chunk(k, first + i);
      if (n_values < kChunk) {
        for (size_t j = 0; j < kChunk; ++j) filled[j] = j < n_values ? from[i][j] : 0.0f;
        from[i] = filled;
      }
    }
    Magnitudes<magnitude_blocks(static_cast<const Chunk*>(nullptr))> sizes[kTogether];
    for (size_t i = 0; i < n; ++i) sizes[i].measure(from[i]);
    for (size_t i = 0; i < n; ++i) {
      set_scales(sizes[i], records[(first + i) * step], scales[i]);
    }
    for (size_t i = 0; i < n; ++i) {
      Chunk& out = records[(first + i) * step];
      if (scales[i].has_values) {
        round_values(from[i], scales[i], out);
      } else {  // d comes first, and is set
        __builtin_memset(reinterpret_cast<std::byte*>(&out) + sizeof out.d, 0,
                         sizeof out - sizeof out.d);
      }
    }
  }
}

inline void quantize_row(const float* x, size_t k, F32Chunk* records, size_t step) {
  for (size_t i = 0; i < chunks_of(k) * kChunk; i += kLanes) {
    const size_t left = i < k ? k - i : 0;
    store(records[i / kChunk * step].x + i % kChunk, left >= kLanes ? load(x + i)
                                                     : left > 0     ? load_first(x + i, left)
                                                                    : zero_f32());
  }
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
    quantize_row(x + row * x_stride, k, records + row, n_rows);
  }
}

template <class Chunk>
void gather_activations(const std::byte* from,
                        size_t n_rows,
                        size_t k,
                        const uint32_t* rows,
                        size_t n,
                        std::byte* out) {
  for (size_t c = 0; c < chunks_of(k); ++c) {
    for (size_t i = 0; i < n; ++i) {
      __builtin_memcpy(out + (c * n + i) * sizeof(Chunk),
                       from + (c * n_rows + rows[i]) * sizeof(Chunk), sizeof(Chunk));
    }
  }
}

template <class Chunk>
constexpr ActivationKernels activation_kernels() {
  return {.bytes = activation_bytes<Chunk>,
          .quantize = quantize_activations<Chunk>,
          .gather = gather_activations<Chunk>};
}

}  // namespace
}  // namespace maglio

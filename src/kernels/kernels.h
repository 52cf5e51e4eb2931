// The kernel table: everything that is computed per element, once per instruction set.
//
// One algorithm source (generic/*.inl) is written over a small vocabulary of 16 lanes
// (simd/*.h) and compiled into one sealed unit per instruction set (isa_*.cpp), which exports one
// Kernels table. The scalar table is the specification: every other table gives the same bits on
// every input (docs/numerics.md). Kernels take plain pointers and counts, allocate nothing, start
// no threads, throw nothing. Callers validate; kernels assert nothing.
//
// Lanes are outputs: 16 rows of a weight matrix are packed into one panel, and each lane of a
// vector is the running sum of one output. So no sum is ever split, whatever the batch or tile.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace maglio {

inline constexpr size_t kPanelRows = 16;  // weight rows (= outputs) interleaved in one panel
inline constexpr size_t kPageKeys = 64;   // cache positions in one KV page = one attention chunk

// What a weight format multiplies with. Decided per format, the same on every instruction set
// (docs/numerics.md gives the numbers behind the choice).
enum class ActivationClass : uint8_t {
  f32,  // F32, F16 weights: activations as they are
  a16,  // int16 per 32 values: BF16, Q8_0, Q4_1, Q5_0, Q5_1
  a8,   // int8 per 32 values: Q4_0
  a8k,  // int8 per 256 values with a small integer scale per 32: Q4_K, Q5_K, Q6_K
};
inline constexpr size_t kActivationClasses = 4;

// Rows of activations, quantized once and read by every projection of the same input.
// The bytes are opaque above this room. Any division of [0, n_rows) into calls of quantize gives
// the same buffer, so threads may share the work.
struct ActivationKernels {
  // Bytes of the buffer for n_rows rows of k values.
  size_t (*bytes)(size_t n_rows, size_t k);
  // Quantizes rows [row_begin, row_end) of x (row r starts at x + r * x_stride) into out, a buffer
  // for n_rows rows. Requires: out is 64-byte aligned. What the last 256 values lack counts as
  // zeros.
  void (*quantize)(const float* x,
                   size_t x_stride,
                   size_t n_rows,
                   size_t k,
                   size_t row_begin,
                   size_t row_end,
                   std::byte* out);
  // Rows rows[0 .. n) of a buffer for n_rows rows, as a buffer for n rows: what quantizing them
  // again would give.
  void (*gather)(const std::byte* from,
                 size_t n_rows,
                 size_t k,
                 const uint32_t* rows,
                 size_t n,
                 std::byte* out);
};

// One matrix product: out[m, n] = sum over k of activations[m, k] * weights[n, k].
struct MatmulTask {
  const std::byte* panels;       // packed weights, panel p at panels + p * panel_bytes(k)
  const std::byte* activations;  // as ActivationKernels::quantize left them, n_rows rows of k
  size_t k;                      // contracted extent
  size_t n_rows;                 // rows of activations
  size_t n_outputs;              // rows of the weight matrix (the last panel may be partly padding)
  float* out;                    // [n_rows, n_outputs], row m at out + m * out_stride
  size_t out_stride;
  std::byte* scratch;  // matmul_scratch_bytes(n_rows, k), one per thread, 64-byte aligned
};

struct FormatKernels {
  DType dtype;
  ActivationClass activation;
  // Bytes of one panel: 16 rows of k values. A multiple of 64.
  size_t (*panel_bytes)(size_t k);
  // Interleaves n <= 16 rows, as the file stores them (row i at rows + i * row_bytes), into a
  // panel; missing rows become zeros.
  void (*pack_panel)(const std::byte* rows, size_t row_bytes, size_t n, size_t k, std::byte* panel);
  // The k values of row `lane` of a panel, dequantized: equal to dequantizing the file's row. Null
  // where panels hold less than the file: BF16's do.
  void (*unpack_row)(const std::byte* panel, size_t lane, size_t k, float* out);
  size_t (*matmul_scratch_bytes)(size_t n_rows, size_t k);
  // Computes the outputs of panels [panel_begin, panel_end) for all rows.
  void (*matmul)(const MatmulTask& task, size_t panel_begin, size_t panel_end);
};
inline constexpr size_t kWeightFormats = 11;

// One row at a time; n is the row's length, any n >= 1. In place is allowed where out == x.
struct RowKernels {
  // out = x / sqrt(mean(x^2) + eps) * weight     (Zhang & Sennrich 2019, eq. 4)
  void (*rms_norm)(const float* x, const float* weight, float eps, size_t n, float* out);
  // Rotates a head's n = 2 * half channels: pair (i, i + half), or (2i, 2i + 1) for interleaved.
  // cos, sin: [half], the angles of this row's position    (Su et al. 2021, section 3.2.2)
  void (*rope_half)(float* x, const float* cos, const float* sin, size_t half);
  void (*rope_interleaved)(float* x, const float* cos, const float* sin, size_t half);
  // out = gate * sigmoid(gate) * up
  void (*swiglu)(const float* gate, const float* up, size_t n, float* out);
  // out = x * factor
  void (*scale)(const float* x, float factor, size_t n, float* out);
  // x += y
  void (*add)(float* x, const float* y, size_t n);
  // out = exp(x - shift) in this library's own exp; returns the sum in 16 lanes and one tree.
  float (*exp_sum)(const float* x, float shift, size_t n, float* out);
  float (*max)(const float* x, size_t n);
  // True when all n values are finite.
  bool (*all_finite)(const float* x, size_t n);
};

enum class CacheType : uint8_t { f16, q8_0 };

// The query rows of one kv head against one page of keys and values. A page's partial result
// depends on the page and the query alone, never on the running state: pages may be computed in
// any order and on any thread, and are combined in ascending order.
struct AttendPageTask {
  const std::byte* key_page;
  const std::byte* value_page;
  const float* queries;  // [n_queries, head_dim], rows at queries + i * query_stride, pre-scaled
  size_t query_stride;
  size_t n_queries;
  size_t head_dim;
  // Query i sees the page's keys [key_begin[i], key_end[i]); an empty range leaves max = -inf.
  const uint8_t* key_begin;
  const uint8_t* key_end;
  float* maxima;       // [n_queries]
  float* sums;         // [n_queries]
  float* outputs;      // [n_queries, head_dim], dense
  std::byte* scratch;  // attend_scratch_bytes(n_queries, head_dim), 64-byte aligned
};

struct AttentionKernels {
  // Bytes of a page of keys, and of a page of values, of one kv head. Multiples of 64.
  size_t (*key_page_bytes)(size_t head_dim);
  size_t (*value_page_bytes)(size_t head_dim);
  // Rounds n rows, row i at rows + i * stride, through the cache's type into slots [slot, slot + n)
  // of a page; load gives back one of them. Requires: slot + n <= 64.
  void (*store_keys)(
      const float* rows, size_t stride, size_t n, size_t head_dim, size_t slot, std::byte* page);
  void (*store_values)(
      const float* rows, size_t stride, size_t n, size_t head_dim, size_t slot, std::byte* page);
  void (*load_key)(const std::byte* page, size_t head_dim, size_t slot, float* row);
  void (*load_value)(const std::byte* page, size_t head_dim, size_t slot, float* row);
  size_t (*attend_scratch_bytes)(size_t n_queries, size_t head_dim);
  // Stores the page's maxima, sums and outputs.
  void (*attend_page)(const AttendPageTask& task);
  // Folds them into the maxima, sums and outputs of the pages before.
  void (*fold_page)(const AttendPageTask& task);
};

// What attend_page left for one query, page after page.
struct PagePartials {
  const float* maxima;   // of page k at maxima[k * stride]
  const float* sums;     // likewise
  const float* outputs;  // [head_dim], of page k at outputs + k * stride * head_dim
  size_t stride;
  size_t n_pages;
};

// A query's running (M, L, O) begins as (-inf, 0, zeros) and takes pages in ascending order:
// M' = max(M, m), a = exp(M - M'), b = exp(m - M'), L = fma(L, a, l * b), O = fma(O, a, o * b).
// Pages with the sum 0, where it sees nothing, are passed over.
struct FoldKernels {
  void (*fold)(const PagePartials& pages,
               size_t head_dim,
               float* running_max,
               float* running_sum,
               float* running_out);
  // out = running_out * (1 / running_sum)
  void (*finish)(const float* running_out, float running_sum, size_t head_dim, float* out);
};

// What the instruction set can do at most, to measure the rest against (`maglio bench`).
struct LimitKernels {
  // Reads whole cache lines and does nothing else; the sum of their dwords, modulo 2^32. Fetches
  // `ahead` bytes ahead; 0 leaves that to the hardware. Requires: n_bytes is a multiple of 64.
  uint32_t (*read)(const std::byte* bytes, size_t n_bytes, size_t ahead);
  // By activation class: rounds of the multiply-adds that its products are made of, on registers.
  // Returns how many multiply-adds they were, proportional to n_rounds.
  uint64_t (*multiply_adds[kActivationClasses])(size_t n_rounds);
};

struct Kernels {
  const char* name;  // as MAGLIO_ISA spells it
  ActivationKernels activations[kActivationClasses];
  FormatKernels formats[kWeightFormats];
  RowKernels rows;
  AttentionKernels attention_f32;  // keys and values as they are: attention without a cache
  AttentionKernels attention_f16;
  AttentionKernels attention_q8_0;
  FoldKernels folding;
  LimitKernels limits;

  const ActivationKernels& activation(ActivationClass c) const {
    return activations[static_cast<size_t>(c)];
  }
  const AttentionKernels& attention(CacheType t) const {
    return t == CacheType::f16 ? attention_f16 : attention_q8_0;
  }
};

// One table an instruction set; kernels/registry.h says which of them this machine can run.
extern const Kernels kernels_scalar;
extern const Kernels kernels_avx2;        // x86-64 only, as the following
extern const Kernels kernels_avxvnni;     // AVX2 and VNNI
extern const Kernels kernels_avx512;      // F, BW, DQ, VL
extern const Kernels kernels_avx512vnni;  // and VNNI
extern const Kernels kernels_neon;        // AArch64 only, as the following
extern const Kernels kernels_neon_i8mm;   // and products of matrices of bytes

// The table of the format. Requires: is_weight_format(dtype).
const FormatKernels& format_kernels(const Kernels& kernels, DType dtype);

}  // namespace maglio

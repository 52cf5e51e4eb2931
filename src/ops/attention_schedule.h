// How the work of one attention is shared among threads. Internal to ops/attention.
//
// Two shapes of work, the same bits:
//   tiles   many rows (prefill): a thread takes some rows of one kv head through all their pages,
//   so
//           that a page is expanded once for many queries;
//   pages   few rows (decode): a thread takes pages, one kv head after another as they lie in
//           memory; the partial results are folded afterwards. So one long sequence keeps every
//           thread busy, and memory is read in order.
#pragma once

#include <cstddef>
#include <span>

#include "ops/attention.h"
#include "ops/context.h"

namespace maglio::detail {

struct AttentionJob {
  Tensor<const float, Seq, Head, Dim> queries;
  size_t n_kv_heads;
  size_t group;  // query heads per kv head
  size_t head_dim;
  AttentionOptions options;
  std::span<const AttentionStream> streams;
  float* out;  // [n_rows, n_kv_heads * group, head_dim]
};

// Takes its scratch from the arena; the caller holds the scope.
void run_attention(Context& cx, const AttentionJob& job);

}  // namespace maglio::detail

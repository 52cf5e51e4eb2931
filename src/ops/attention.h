// Grouped-query attention: each row of queries looks at the keys it may see and mixes their values.
//
//   out = softmax(q k' / sqrt(head_dim)) v        (Vaswani et al. 2017, eq. 1)
//   query head h reads kv head h / (n_heads / n_kv_heads)        (Ainslie et al. 2023)
//
// Keys come in pages of 64 positions. What a query gets from a page depends on the two alone, and
// pages are folded in ascending order; so threads may share the pages and the rows in any way, and
// a row has the same bits in a prompt, in a decode step and in any batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/context.h"
#include "ops/kv_pages.h"
#include "tensor/tensor.h"

namespace maglio {

enum class AttentionMask : uint8_t {
  causal,         // a token sees those before it, and itself
  bidirectional,  // every token sees every key of its stream
};

// Designated initialisers: a misspelled option does not compile.
struct AttentionOptions {
  AttentionMask mask = AttentionMask::causal;
  // Causal only. The token at position p sees positions p - window + 1 to p, exactly `window` of
  // them where there are as many; 0: all.
  size_t window = 0;
};

// Some consecutive rows of queries, and the sequence that they look at.
struct AttentionStream {
  KvPages keys_values;
  size_t n_keys = 0;    // positions that keys_values holds, those of the rows included
  size_t position = 0;  // of the first row; rows ascend by one
  size_t n_rows = 0;
};

// Rows of q in stream order -> as many rows, in the arena.
// Requires: n_rows add up to q's; position + n_rows <= n_keys; n_kv_heads divides n_heads.
Tensor<float, Seq, Head, Dim> attend(Context& cx,
                                     Tensor<const float, Seq, Head, Dim> q,
                                     std::span<const AttentionStream> streams,
                                     const AttentionOptions& options = {});

// One stream: the queries stand at the end of its n_keys positions.
Tensor<float, Seq, Head, Dim> attend(Context& cx,
                                     Tensor<const float, Seq, Head, Dim> q,
                                     const KvPages& keys_values,
                                     size_t n_keys,
                                     const AttentionOptions& options = {});

// Without a cache, nothing rounded: row i of k and v is position i, and the queries stand at the
// end of them.
Tensor<float, Seq, Head, Dim> attend(Context& cx,
                                     Tensor<const float, Seq, Head, Dim> q,
                                     Tensor<const float, Seq, KvHead, Dim> k,
                                     Tensor<const float, Seq, KvHead, Dim> v,
                                     const AttentionOptions& options = {});

}  // namespace maglio

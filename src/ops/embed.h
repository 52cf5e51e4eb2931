// Embedding lookup: one row of the table for each token id.
//
// The table is stored in any weight format; rows are dequantized as they are gathered and nothing
// is widened at load. Where the head is tied to the embedding there is one matrix for both, packed
// for the head, and the rows come out of its panels: the same numbers, no second copy. Otherwise
// the table stays raw: of its rows only those of the text are ever read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/context.h"
#include "ops/linear.h"
#include "tensor/tensor.h"

namespace maglio {

// Row ids[i] of the table in row i. In the arena. Requires: 0 <= ids[i] < vocabulary.
Tensor<float, Seq, Embed> embed(Context& cx,
                                const Weight<Vocab, Embed>& table,
                                std::span<const int32_t> ids);

}  // namespace maglio

// A contribution of which each token takes a share of its own: what the expert says that all tokens
// of Qwen2's mixtures have in common.
//
//   out += sigmoid(share) * y
#pragma once

#include "ops/context.h"
#include "tensor/tensor.h"

namespace maglio {

// In place; y is scaled in place too. Requires: one shape of out and y, one share a row.
void add_share(Context& cx,
               Tensor<float, Seq, Embed> out,
               Tensor<const float, Seq, Share> share,
               Tensor<float, Seq, Embed> y);

}  // namespace maglio

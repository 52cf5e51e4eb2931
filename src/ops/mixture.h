// A mixture of experts: many small feed-forward networks, of which each token uses a few.
//
//   out = sum over the token's experts e, in the order of the choice, of
//         w_e * (W_down,e (silu(W_gate,e h) * W_up,e h))
//
// Tokens are grouped by expert, so that each expert's weights are read once for all of its tokens;
// all experts together are one piece of work a step: gate and up, activation, down, sum. One token
// and a long prompt go the same way. A token's sum has an order of its own, so its bits do not
// depend on which other tokens went to its experts.
#pragma once

#include <span>

#include "ops/linear.h"
#include "ops/router.h"

namespace maglio {

// A feed-forward network: a layer's only one, or one expert.
struct FeedForward {
  Projections<Embed, Ff, Ff> gate_up;
  Weight<Embed, Ff> down;
};

// In the arena. Requires: h was quantized for the experts' gate and up; all experts have one
// geometry and, matrix by matrix, one format.
Tensor<float, Seq, Embed> mix(Context& cx,
                              const QuantRows<Seq, Embed>& h,
                              const Routing& routing,
                              std::span<const FeedForward> experts);

}  // namespace maglio

// A mixture of experts: many small feed-forward networks, of which each token uses a few.
//
//   out = sum over the token's experts e, in the order of the choice, of
//         w_e * (W_down,e (silu(W_gate,e h) * W_up,e h))
//
// Tokens are grouped by expert, so that each expert's weights are read once for all of its tokens;
// all experts that are lent together are one piece of work a step: gate and up, activation, down.
// One token and a long prompt go the same way. A row is computed from its own numbers only and a
// token's sum has an order of its own, so its bits do not depend on which other tokens went to its
// experts, nor on which experts came together.
#pragma once

#include "ops/expert_source.h"
#include "ops/linear.h"
#include "ops/router.h"

namespace maglio {

// In the arena. Requires: h was quantized for the experts' gate and up; all experts have one
// geometry and, matrix by matrix, one format. Throws: Error io as the source does.
Tensor<float, Seq, Embed> mix(Context& cx,
                              const QuantRows<Seq, Embed>& h,
                              const Routing& routing,
                              ExpertSource& experts);

}  // namespace maglio

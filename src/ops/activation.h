// SwiGLU: silu(gate) * up, where silu(z) = z * sigmoid(z)     (Shazeer 2020)
//
// One pathway decides, channel by channel, how much of the other one's signal passes.
#pragma once

#include "ops/context.h"
#include "tensor/tensor.h"

namespace maglio {

// In the arena. Requires: gate and up have one shape.
Tensor<float, Seq, Ff> swiglu(Context& cx,
                              Tensor<const float, Seq, Ff> gate,
                              Tensor<const float, Seq, Ff> up);

}  // namespace maglio

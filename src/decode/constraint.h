// The seam for constrained decoding: something that forbids tokens, and learns which was taken.
//
// The sampler calls mask before everything else it does and accept once per token that it draws,
// so a constraint sees every committed token exactly once and in order.
#pragma once

#include <span>

#include "maglio/tokenizer.h"

namespace maglio {

class Constraint {
 public:
  virtual ~Constraint() = default;

  // Sets the logit of every token that may not come next to -infinity.   logits: [vocab]
  virtual void mask(std::span<float> logits) = 0;
  // The token that came next.
  virtual void accept(TokenId token) = 0;
};

}  // namespace maglio

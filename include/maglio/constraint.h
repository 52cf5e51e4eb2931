// The seam for constrained decoding: something that forbids tokens, and learns which was taken.
//
// The sampler calls mask before everything else it does and accept once per token that it draws,
// so a constraint sees every committed token exactly once and in order. What it knows beyond the
// next token it may say: guesses are then right (forced) or not wasted (allowed_prefix). Neither
// changes what is said.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "maglio/tokenizer.h"

namespace maglio {

class Constraint {
 public:
  virtual ~Constraint() = default;

  // Sets the logit of every token that may not come next to -infinity.   logits: [vocab]
  virtual void mask(std::span<float> logits) = 0;
  // The token that came next.
  virtual void accept(TokenId token) = 0;

  // The tokens that must come next, as far as there is no choice; none where there is one.
  virtual std::vector<TokenId> forced() const { return {}; }
  // How many of these tokens, from the first on, may come next one after the other.
  virtual size_t allowed_prefix(std::span<const TokenId> tokens) const { return tokens.size(); }
};

}  // namespace maglio

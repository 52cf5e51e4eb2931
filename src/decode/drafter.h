// Guesses at what comes next, made without the model: a draft.
//
// A guess promises nothing. The loop checks it against what the model itself would have said
// (Leviathan et al. 2023, with a draft that costs nothing), so it changes how fast a text comes and
// never a bit of it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "maglio/constraint.h"
#include "maglio/tokenizer.h"

namespace maglio {

// chances[i]: how likely tokens[i] comes, if those before it do. As many as there are tokens.
struct Draft {
  std::vector<TokenId> tokens;
  std::vector<float> chances;
};

class Drafter {
 public:
  virtual ~Drafter() = default;

  // At most max tokens that may come after the history (every token so far, prompt included).
  // constraint: nullptr, or what they have to obey.
  virtual Draft propose(std::span<const TokenId> history,
                        const Constraint* constraint,
                        size_t max) = 0;
  // What the model has said to a token: the scores of all that may follow, as they were computed.
  virtual void learn(TokenId token, std::span<const float> logits) = 0;
  // The step is over: what has come after the history, of whose guesses n_checked were looked at.
  virtual void observe(std::span<const TokenId> committed, size_t n_checked) = 0;
};

}  // namespace maglio

// Guesses at what comes next, made without the model (Leviathan et al. 2023 call it a draft).
//
// A guess costs nothing and promises nothing: the loop (generate.h) checks it against what the
// model itself would have said, so a draft changes how fast a text comes and never a bit of it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "maglio/tokenizer.h"

namespace maglio {

class Drafter {
 public:
  virtual ~Drafter() = default;

  // At most max tokens that may come after the history (every token so far, prompt included).
  virtual std::vector<TokenId> propose(std::span<const TokenId> history, size_t max) = 0;
  // The tokens that came instead, or as proposed.
  virtual void observe(std::span<const TokenId> committed) = 0;
};

}  // namespace maglio

// What a sequence needs to guess ahead: one who guesses, and one who says how much of it pays.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "decode/gate.h"
#include "decode/speculation.h"
#include "kernels/kernels.h"
#include "maglio/generation.h"

namespace maglio {

struct Guesser {
  Speculation drafter;
  Gate gate = Gate();

  // Nothing where speculation is off. encode(text) -> ids, as the model's tokenizer has them.
  template <class Encode>
  static std::optional<Guesser> from(const SpeculationOptions& options,
                                     const Kernels& kernels,
                                     Encode&& encode) {
    if (!options.enabled) return std::nullopt;
    std::vector<ReferenceText> references;
    for (const std::string& text : options.references) {
      references.push_back(std::make_shared<const FrozenAutomaton>(encode(text)));
    }
    return Guesser{Speculation(kernels, std::move(references))};
  }
};

}  // namespace maglio

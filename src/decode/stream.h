// What the loop extends: a sequence of tokens with everything that decides how it goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <vector>

#include "decode/drafter.h"
#include "decode/gate.h"
#include "decode/language_model.h"
#include "decode/sampler.h"
#include "maglio/constraint.h"
#include "maglio/generation.h"

namespace maglio {

inline constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

// What becomes of a sampled token.
enum class Verdict : uint8_t {
  go_on,        // keep it and sample the next one
  end_with,     // keep it; it is the last one (finish: stop)
  end_without,  // drop it; the one before was the last (finish: stop)
  cancel,       // keep it; nobody wants more
};

// Borrows everything for the call.
template <LanguageModel Model>
struct Sequence {
  Model& model;
  CacheOf<Model>& cache;
  std::vector<TokenId>& tokens;  // prompt, then answer; the cache holds a prefix of them
  Sampler& sampler;
  Constraint* constraint = nullptr;
  Drafter* drafter = nullptr;  // nullptr: nothing is guessed
  Gate* gate = nullptr;        // nullptr: every guess is checked; of a batch, the first one decides
};

// A sequence, to be extended by up to max_tokens; on_token decides after each.
template <LanguageModel Model>
struct Stream {
  Sequence<Model> sequence;
  size_t max_tokens = kNoLimit;
  std::function<Verdict(TokenId)> on_token;
  PromptSink on_prompt = {};  // where there is one, a long prompt takes a pass after the other
};

// How a stream ended.
struct Ending {
  FinishReason finish = FinishReason::length;
  std::exception_ptr error = nullptr;  // or by what model, sampler or on_token have thrown
};

}  // namespace maglio

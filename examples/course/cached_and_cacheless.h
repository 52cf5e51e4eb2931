// Exercise 3 of the chapter, "Feel the cache": the same 64 tokens twice.
//
// Once as a model is run, with a cache: each step computes one token. Once without: each step
// computes the whole growing sequence. The tokens must be the same ones - in maglio the logits are,
// bit for bit - and the times must not.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "decode/generate.h"
#include "model/kv_cache.h"
#include "model/transformer.h"

namespace maglio::course {

struct TwoWays {
  std::vector<TokenId> cached, cacheless;
  double cached_s = 0, cacheless_s = 0;
};

inline std::vector<TokenId> generate_cacheless(Transformer& model,
                                               std::span<const TokenId> prompt,
                                               size_t n_tokens) {
  std::vector<TokenId> tokens(prompt.begin(), prompt.end());
  for (size_t i = 0; i < n_tokens; ++i) {
    const std::span<const float> logits = model.forward_last_logits(tokens);
    tokens.push_back(
        static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
  }
  return {tokens.begin() + static_cast<std::ptrdiff_t>(prompt.size()), tokens.end()};
}

inline TwoWays generate_both_ways(Transformer& model,
                                  std::span<const TokenId> prompt,
                                  size_t n_tokens) {
  using Clock = std::chrono::steady_clock;
  const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  TwoWays result;
  auto start = Clock::now();
  KvCache cache = model.new_cache(prompt.size() + n_tokens);
  result.cached = generate_greedy(model, cache, prompt, n_tokens);
  result.cached_s = seconds(Clock::now() - start);
  start = Clock::now();
  result.cacheless = generate_cacheless(model, prompt, n_tokens);
  result.cacheless_s = seconds(Clock::now() - start);
  return result;
}

}  // namespace maglio::course

// The one loop: feed what the cache has not seen, sample, ask what to do with the token, repeat
// (sections 12.5 and 12.6).
//
// The sequence of tokens is the truth and the cache follows it: whatever lies beyond the cache's
// length is fed before the next token is sampled. So prefill and decode are the same line, a
// conversation's next turn feeds only what is new, and the last token of an answer is not computed
// before somebody needs it.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "decode/constraint.h"
#include "decode/language_model.h"
#include "decode/sampler.h"
#include "maglio/error.h"
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
};

// Computes the tokens that the cache has not seen; returns the logits of the last one.
// Requires: cache.length() < tokens.size() <= cache.capacity().
template <LanguageModel Model>
std::span<float> feed(Model& model, CacheOf<Model>& cache, std::span<const TokenId> tokens) {
  return model.forward_step(cache, tokens.subspan(cache.length()), cache.length());
}

// Appends up to max_tokens sampled tokens to the sequence, fewer when the context ends first;
// on_token(TokenId) -> Verdict decides after each. With max_tokens 0 it only feeds.
// Requires: tokens beyond the cache's length, at least one.
// Throws: Error context_full "ContextFull" when the tokens leave no room for another; what model
// and sampler throw. The sequence then holds what was kept so far and can be continued.
template <LanguageModel Model, class OnToken>
FinishReason generate(const Sequence<Model>& s, size_t max_tokens, OnToken&& on_token) {
  if (s.tokens.size() >= s.cache.capacity()) {
    throw Error(ErrorKind::context_full, "ContextFull",
                fmt::format("the prompt has {} tokens, the context size is {} and holds at most {} "
                            "of them; shorten it or raise --ctx",
                            s.tokens.size(), s.cache.capacity(), s.cache.capacity() - 1));
  }
  const size_t limit = std::min(max_tokens, s.cache.capacity() - s.tokens.size());
  if (limit == 0) feed(s.model, s.cache, std::span<const TokenId>(s.tokens));
  for (size_t n = 0; n < limit; ++n) {
    const std::span<float> logits = feed(s.model, s.cache, std::span<const TokenId>(s.tokens));
    const TokenId next = s.sampler.next(logits, s.tokens, s.constraint);
    const Verdict verdict = on_token(next);
    if (verdict == Verdict::end_without) return FinishReason::stop;
    s.tokens.push_back(next);
    if (verdict == Verdict::end_with) return FinishReason::stop;
    if (verdict == Verdict::cancel) return FinishReason::cancelled;
  }
  return FinishReason::length;
}

// The chapter's Model.generate: greedy, at most min(max_new_tokens, room) ids, the stop token kept.
template <LanguageModel Model>
std::vector<TokenId> generate_greedy(Model& model,
                                     CacheOf<Model>& cache,
                                     std::span<const TokenId> prompt,
                                     size_t max_new_tokens,
                                     std::optional<TokenId> stop_token = std::nullopt) {
  Sampler greedy({}, model.kernels());
  std::vector<TokenId> tokens(prompt.begin(), prompt.end());
  generate(Sequence<Model>{model, cache, tokens, greedy}, max_new_tokens,
           [&](TokenId id) { return id == stop_token ? Verdict::end_with : Verdict::go_on; });
  return {tokens.begin() + static_cast<std::ptrdiff_t>(prompt.size()), tokens.end()};
}

}  // namespace maglio

// Tokens per second of an answer.
#pragma once

#include "maglio/generation.h"

namespace maglio::app {

// 0 where nothing took any time.
inline double tokens_per_second(size_t n_tokens, double ms) {
  return ms > 0 ? static_cast<double>(n_tokens) * 1000 / ms : 0;
}

// Of the prompt's tokens that were computed.
inline double prompt_rate(const Reply& reply) {
  return tokens_per_second(reply.prompt_tokens - reply.cached_tokens, reply.prompt_ms);
}

// Of the answer's tokens but the first: the prompt's time ends with that one.
inline double generation_rate(const Reply& reply) {
  return tokens_per_second(reply.ids.empty() ? 0 : reply.ids.size() - 1, reply.generation_ms);
}

}  // namespace maglio::app

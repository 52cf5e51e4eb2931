// What --json prints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "maglio/error.h"
#include "maglio/expert_cache.h"
#include "maglio/generation.h"

namespace maglio::app {

struct AnswerReport {
  const Reply& reply;
  const std::vector<std::string>& stop_strings;
  uint64_t seed;
  double load_ms;
  std::optional<ExpertCacheStats> experts = {};
};

// One object on one line: text, ids, finish_reason, stop_sequence, prompt_tokens, cached_tokens,
// generated_tokens, seed, timings {load_ms, prompt_ms, gen_ms, prompt_per_second, gen_per_second};
// where it was on, speculation {steps, verify_steps, plain_steps, gated_off, drafted, accepted,
// bonus, sources {forced, conversation, reference, recycled: {drafted, accepted}}}; with an expert
// cache, experts {as ExpertCacheStats, hit_rate, lookahead_recall}, since the model was loaded.
std::string answer_json(const AnswerReport& report);

// What stands in its place for a stream that has failed: {"error": {"code", "message"}}.
std::string error_json(const Error& error);

}  // namespace maglio::app

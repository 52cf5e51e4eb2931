#include "maglio/sampling_flags.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <random>

#include "maglio/number_checks.h"

namespace maglio::app {

uint64_t fresh_seed() {
  std::random_device device;
  const uint64_t high = device(), low = device();
  return (high << 32 | low) >> 1;
}

void SamplingFlags::add_to(CLI::App& command) {
  const std::string group = "Sampling (a chat takes the model's own, else 0.6, 20, 0.95)";
  auto add = [&](const char* flag, auto& target, const char* help, const CLI::Validator& check) {
    command.add_option(flag, target, help)->check(check)->group(group);
  };
  // What the sampler takes (decode/sampler.cpp) is narrower where it says so itself.
  constexpr int64_t kLeast = std::numeric_limits<int32_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  add("--temp", temperature, "Temperature; 0 is greedy [0; in a chat 0.6, with --no-think 0.7]",
      real_number());
  add("--top-k", top_k, "Keep the k best tokens; 0 or less: all [0; in a chat 20]",
      whole_number(kLeast, kMost));
  add("--top-p", top_p,
      "Keep the best tokens that reach this probability [1; in a chat 0.95, with --no-think 0.8]",
      real_number(0, 1));
  add("--min-p", min_p, "Keep tokens this probable relative to the best [0]", real_number(0, 1));
  add("--repeat-penalty", repeat_penalty, "Divides the logits of repeated tokens [1]",
      real_number());
  add("--repeat-last-n", repeat_last_n,
      "Tokens that the penalties look back; 0 off, -1 all [64 tokens]", whole_number(-1, kMost));
  add("--frequency-penalty", frequency_penalty, "Subtracted per occurrence of a token [0]",
      real_number());
  add("--presence-penalty", presence_penalty, "Subtracted from tokens that occurred [0]",
      real_number());
  add("-s,--seed", seed, "Seed of the random numbers; -1: a fresh one [-1]", whole_number(-1));
}

SamplerConfig SamplingFlags::resolve(const SamplerConfig& defaults) const {
  SamplerConfig config = defaults;
  config.temperature = temperature.value_or(config.temperature);
  config.top_k = top_k.value_or(config.top_k);
  config.top_p = top_p.value_or(config.top_p);
  config.min_p = min_p.value_or(config.min_p);
  config.repeat_penalty = repeat_penalty.value_or(config.repeat_penalty);
  config.frequency_penalty = frequency_penalty.value_or(config.frequency_penalty);
  config.presence_penalty = presence_penalty.value_or(config.presence_penalty);
  config.repeat_last_n = repeat_last_n.value_or(config.repeat_last_n);
  if (seed && *seed >= 0) {
    config.seed = static_cast<uint64_t>(*seed);
  } else if (!config.is_greedy()) {
    config.seed = fresh_seed();
  }
  return config;
}

}  // namespace maglio::app

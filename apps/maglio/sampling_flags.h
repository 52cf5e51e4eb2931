// The flags of the sampler, shared by the commands that generate.
#pragma once

#include <cstdint>
#include <optional>

#include "maglio/generation.h"

namespace CLI {
class App;
}

namespace maglio::app {

// A seed from the system's random numbers, of 63 bits: what --seed takes back.
uint64_t fresh_seed();

// What the user has set; the rest comes from the defaults of the occasion.
struct SamplingFlags {
  std::optional<float> temperature, top_p, min_p;
  std::optional<int32_t> top_k;
  std::optional<float> repeat_penalty, frequency_penalty, presence_penalty;
  std::optional<int32_t> repeat_last_n;
  std::optional<int64_t> seed;  // -1 and nothing: a fresh one

  void add_to(CLI::App& command);

  // Sampling that is not greedy gets a fresh seed where none was given.
  SamplerConfig resolve(const SamplerConfig& defaults) const;
};

}  // namespace maglio::app

#include "chat/sampler_defaults.h"

namespace maglio::chat {

SamplerConfig sampler_defaults(const gguf::Metadata& metadata, Thinking thinking) {
  const bool thinks = thinking == Thinking::on;
  SamplerConfig config;
  config.temperature = thinks ? 0.6f : 0.7f;
  config.top_k = 20;
  config.top_p = thinks ? 0.95f : 0.8f;
  auto real = [&](const char* key, float& value) {
    if (const auto found = metadata.number(key)) value = static_cast<float>(*found);
  };
  auto whole = [&](const char* key, int32_t& value) {
    if (const auto found = metadata.integer(key)) value = static_cast<int32_t>(*found);
  };
  real("general.sampling.temp", config.temperature);
  whole("general.sampling.top_k", config.top_k);
  real("general.sampling.top_p", config.top_p);
  real("general.sampling.min_p", config.min_p);
  real("general.sampling.penalty_repeat", config.repeat_penalty);
  whole("general.sampling.penalty_last_n", config.repeat_last_n);
  return config;
}

}  // namespace maglio::chat

// The sampler settings of a chat when nobody asks for others.
#pragma once

#include "gguf/metadata.h"
#include "maglio/conversation.h"

namespace maglio::chat {

// The model file's own recommendation (general.sampling.*: temp, top_k, top_p, min_p,
// penalty_repeat, penalty_last_n) where it has one, else Qwen3's: temperature 0.6, top-k 20,
// top-p 0.95; without thinking 0.7, 20 and 0.8.
// Throws: Error bad_file for a value of another type.
SamplerConfig sampler_defaults(const gguf::Metadata& metadata, Thinking thinking);

}  // namespace maglio::chat

// How the next token is chosen, and when an answer ends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "maglio/tokenizer.h"

namespace maglio {

// The knobs of the sampler, with llama.cpp's meaning and the neutral value as default: an untouched
// configuration is greedy. The order in which they apply is the sampler's (src/decode/sampler.h).
struct SamplerConfig {
  float temperature = 0;        // divides the logits; <= 0 is greedy: always the best token
  int32_t top_k = 0;            // keep the k best tokens; <= 0 is off: the whole vocabulary
  float top_p = 1;              // keep the smallest best set whose probability reaches p; 1 is off
  float min_p = 0;              // keep tokens at least this probable beside the best; 0 is off
  float repeat_penalty = 1;     // divides a repeated token's positive logit, multiplies a negative
  float frequency_penalty = 0;  // subtracted once per occurrence
  float presence_penalty = 0;   // subtracted once per token that occurred
  int32_t repeat_last_n = 64;   // penalties see the newest n tokens; 0 is off, -1 all of them
  uint64_t seed = 0;            // any number is a seed; the same one tells the same story

  bool is_greedy() const { return temperature <= 0; }
  bool operator==(const SamplerConfig&) const = default;
};

enum class FinishReason : uint8_t {
  stop,       // an end token, or a stop string
  length,     // the limit of tokens, or the end of the context
  cancelled,  // the sink wanted no more
};

std::string_view to_string(FinishReason reason);

// Receives text as it comes, whole characters only; returns false to end the answer.
using TextSink = std::function<bool(std::string_view)>;

// Told after each pass over a long prompt how many of the tokens that had to be computed are read,
// and of how many; returns false to end the answer before it begins (finish: cancelled).
using PromptSink = std::function<bool(size_t n_read, size_t n_all)>;

// What ends an answer besides its length.
struct StopRule {
  std::vector<std::string> strings = {};  // the answer ends before the first of them; empty ones
                                          // are ignored
  bool ignore_end_tokens = false;         // run on through end-of-text tokens
};

// Guessing ahead without a second model: what may come next is looked up in what was said before
// and in reference texts, and the model checks several guesses in one pass. The answer is the same,
// to the last token; it only comes sooner where it quotes. It turns itself off where it does not.
struct SpeculationOptions {
  bool enabled = false;
  std::vector<std::string> references = {};  // texts that answers may quote
};

// Where a guess came from.
enum class DraftSource : uint8_t {
  forced,        // the constraint leaves no choice
  conversation,  // the last words were said before; what came then
  reference,     // the same in a reference text
  recycled,      // what the model last preferred after the same token
};
inline constexpr size_t kDraftSources = 4;

std::string_view to_string(DraftSource source);

struct SpeculationStats {
  struct Source {
    size_t drafted = 0;   // guesses that were checked
    size_t accepted = 0;  // those of them that came true
    bool operator==(const Source&) const = default;
  };

  size_t verify_steps = 0;  // passes that checked guesses
  size_t plain_steps = 0;   // passes for one token
  size_t gated_off = 0;     // those of them for which guesses were there and would not have paid
  size_t bonus = 0;         // tokens that came on top of a draft that was right to its end
  std::array<Source, kDraftSources> sources = {};

  size_t steps() const { return verify_steps + plain_steps; }
  size_t drafted() const;
  size_t accepted() const;
  bool operator==(const SpeculationStats&) const = default;
};

// An answer, and how it came to be.
struct Reply {
  std::string text;
  std::vector<TokenId> ids;  // the answer's tokens, without the one that ended it
  FinishReason finish = FinishReason::length;
  std::optional<size_t> stop_string;  // index into StopRule::strings of the one that ended it
  size_t prompt_tokens = 0;           // of the whole sequence before the answer
  size_t cached_tokens = 0;           // those of them that did not need computing
  double prompt_ms = 0;               // until the first token of the answer was known
  double generation_ms = 0;           // from then to the end
  size_t dropped_messages = 0;        // forgotten to make room (Overflow::drop_oldest)
  std::optional<SpeculationStats> speculation;  // where it was enabled

  size_t computed_tokens() const { return prompt_tokens - cached_tokens; }  // of the prompt
};

}  // namespace maglio

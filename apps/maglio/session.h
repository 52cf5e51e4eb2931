// A model loaded for one run of the program, and what the run's flags mean for it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "maglio/maglio.h"
#include "maglio/run_flags.h"

namespace maglio::app {

struct Session {
  RunFlags flags;
  Model model;
  SamplerConfig chat_defaults;  // of the model file
  double load_ms = 0;

  size_t context_size() const;
  // Nothing: the model has no expert cache.
  std::optional<ExpertCacheStats> experts() const;
  ConversationOptions conversation_options() const;
  // Throws: Error io for a reference that cannot be read.
  SpeculationOptions speculation() const;
  // Ids of --prompt, --prompt-file or --prompt-ids, or of --chat as a rendered turn.
  // Throws: Error bad_request "EmptyPrompt", "BadTokenIds"; io for an unreadable file.
  std::vector<TokenId> prompt_ids() const;
  // The ids of a raw prompt. Throws: Error bad_request "EmptyPrompt".
  std::vector<TokenId> encode_prompt(std::string_view text) const;
};

// Loads with a note on the terminal and warns where the tokenizer is a guess.
Session open_session(const RunFlags& flags);

}  // namespace maglio::app

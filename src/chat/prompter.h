// From a history to the tokens of a prompt, and the tokens that end an answer: everything that a
// conversation does with template and tokenizer.
#pragma once

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/chat_template.h"
#include "chat/conversation_file.h"
#include "chat/history.h"
#include "chat/text_tokenizer.h"
#include "chat/transcript.h"
#include "kernels/kernels.h"
#include "maglio/conversation.h"

namespace maglio::chat {

struct Settings {
  ChatTemplate chat_template;
  ConversationOptions options;  // context_size 0 is not resolved here: give the capacity
  CacheType cache_type = CacheType::f16;
  FileBinding binding = {};  // of files that the conversation is kept in
};

// Borrows the tokenizer.
template <TextTokenizer Text>
class Prompter {
 public:
  Prompter(const Text& tokenizer, Settings all)
      : settings(std::move(all)),
        tokenizer_(&tokenizer),
        stop_marker_(tokenizer.token_id(settings.chat_template.stop_marker())) {}

  Settings settings;  // what of it may change is read anew for each turn

  const Text& tokenizer() const { return *tokenizer_; }

  // The history behind the system message, ready for the next answer.
  Rendered render(const std::vector<Message>& history) const {
    const ConversationOptions& options = settings.options;
    return settings.chat_template.render(
        request_for(history, options.system, options.thinking, settings.chat_template));
  }

  // The tokens of a whole prompt; those that are held already and say the same keep their ids.
  Transcript retold(const Transcript& held, const Rendered& prompt) const {
    return held.retold(opened(cut_into_runs(*tokenizer_, prompt)), encoder());
  }

  // The tokens of a turn behind those that are held.
  Transcript continued(Transcript held, const Rendered& turn) const {
    auto runs = cut_into_runs(*tokenizer_, turn);
    if (held.tokens().empty()) runs = opened(std::move(runs));
    held.append(runs, encoder());
    return held;
  }

  // The template's stop marker where the vocabulary has it, every end token, and the extra ones.
  bool ends_turn(TokenId id) const {
    if (std::ranges::count(settings.options.extra_stop_ids, id) > 0) return true;
    return !settings.options.stop.ignore_end_tokens &&
           (id == stop_marker_ || tokenizer_->is_eos(id));
  }

  // Text between two control tokens to ids.
  auto encoder() const {
    return [this](std::string_view text) {
      return tokenizer_->encode_with(text, {.specials = settings.options.user_specials,
                                            .normalization = settings.options.normalization});
    };
  }

 private:
  // BOS comes first where template or tokenizer want it and the prompt does not have it.
  std::vector<Run> opened(std::vector<Run> runs) const {
    const std::optional<TokenId> bos = tokenizer_->bos_id();
    if (!bos || !(tokenizer_->adds_bos() || settings.chat_template.opens_with_bos())) return runs;
    const Run opening{"", bos};
    if (runs.empty() || runs.front() != opening) runs.insert(runs.begin(), opening);
    return runs;
  }

  const Text* tokenizer_;
  std::optional<TokenId> stop_marker_;
};

}  // namespace maglio::chat

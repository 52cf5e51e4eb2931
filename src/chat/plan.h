// A turn before anything of it has happened: its prompt, which fits, and the history that it
// answers.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "chat/history.h"
#include "chat/prompter.h"
#include "chat/thought.h"
#include "chat/transcript.h"

namespace maglio::chat {

struct Plan {
  Transcript prompt;
  std::optional<std::vector<Message>> history = {};  // before the answer; nothing: unknown
  bool thinks = false;                               // the prompt has opened a thought
  size_t dropped_messages = 0;
};

// Throws: Error context_full "ContextFull" where the context has no room for the prompt and a
// token, bad_request "EmptyPrompt" where the prompt has none.
Plan fitting(Plan plan, size_t capacity);

// The next answer to a history, where `held` is what has been said so far.
// Throws: as fitting, unless the oldest turns may go; what rendering and encoding throw.
template <TextTokenizer Text>
Plan plan_answer(const Prompter<Text>& prompter,
                 const Transcript& held,
                 std::vector<Message> history,
                 size_t capacity) {
  const ConversationOptions& options = prompter.settings.options;
  // With drop_oldest an answer shall have room as well, but not at the price of the whole past.
  const size_t wanted = std::min(options.max_tokens.value_or(capacity), capacity / 4);
  for (size_t n_dropped = 0;;) {
    const Rendered rendered = prompter.render(history);
    Plan plan{prompter.retold(held, rendered), std::move(history), opens_thought(rendered.text()),
              n_dropped};
    const bool has_room = plan.prompt.tokens().size() + std::max<size_t>(wanted, 1) <= capacity;
    if (has_room || options.overflow == Overflow::refuse) return fitting(std::move(plan), capacity);
    const size_t n_oldest = drop_oldest_turn(*plan.history);
    if (n_oldest == 0) return fitting(std::move(plan), capacity);
    n_dropped += n_oldest;
    history = *std::move(plan.history);
  }
}

}  // namespace maglio::chat

#include "chat/plan.h"

#include <fmt/format.h>

#include "maglio/error.h"

namespace maglio::chat {

Plan fitting(Plan plan, size_t capacity) {
  if (plan.prompt.tokens().empty()) {
    throw Error(ErrorKind::bad_request, "EmptyPrompt",
                "the prompt has no tokens, expected at least one: does the chat template say "
                "anything?");
  }
  if (plan.prompt.tokens().size() < capacity) return plan;
  throw Error(ErrorKind::context_full, "ContextFull",
              fmt::format("this turn needs {} tokens with the conversation before it, the context "
                          "size is {}: start anew, or raise --ctx",
                          plan.prompt.tokens().size(), capacity));
}

}  // namespace maglio::chat

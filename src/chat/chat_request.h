// What a chat template renders: a history, and what the template needs to know besides.
#pragma once

#include <span>
#include <vector>

#include "maglio/conversation.h"

namespace maglio::chat {

struct ChatRequest {
  std::vector<Message> messages;
  // Opens the next answer. A trailing assistant message is continued instead of closed.
  bool add_generation_prompt = true;
  Thinking thinking = Thinking::on;
};

inline ChatRequest chat_request(std::span<const Message> messages, Thinking thinking) {
  return {.messages = {messages.begin(), messages.end()}, .thinking = thinking};
}

}  // namespace maglio::chat

// What a chat template renders: a history, and what the template needs to know besides.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "chat/jinja/value.h"
#include "maglio/conversation.h"

namespace maglio::chat {

struct ChatRequest {
  // Dicts with at least "role" (trusted: one of the four, or developer) and "content" (a string);
  // everything else as the client sent it. parse_chat_request and message_value make such ones.
  std::vector<jinja::Value> messages;
  jinja::Value tools = {};  // a list of definitions, or None
  // Opens the next answer. A trailing assistant message is continued instead of closed.
  bool add_generation_prompt = true;
  Thinking thinking = Thinking::on;
  jinja::Dict kwargs = {};  // further variables for the template
};

jinja::Value message_value(const Message& message);
std::vector<jinja::Value> message_values(std::span<const Message> messages);
ChatRequest chat_request(std::span<const Message> messages, Thinking thinking);
// Role, content and reasoning of such a value: what the native renderers know of a message.
Message plain_message(const jinja::Value& message);

// The body of a chat request: messages, tools, add_generation_prompt, chat_template_kwargs; other
// fields are for others. Text parts of a content list become one string, with nothing between
// them; content that is null or absent beside tool calls becomes "".
// Throws: Error bad_request naming the JSON pointer of what is wrong: "BadJson", "BadChatRequest",
// "EmptyMessages", "UnknownRole", "UnsupportedContent", "ReservedTemplateArgument".
ChatRequest parse_chat_request(std::string_view json);

}  // namespace maglio::chat

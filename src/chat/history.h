// The history of a conversation as messages: turns are added, dropped and handed to a template. A
// turn begins with what a user says and reaches to the next.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/chat_template.h"

namespace maglio::chat {

// What the template is asked to render: the history behind the system message, if there is one.
// An empty system message means none at all; it is left out, unless the template would then say its
// own.
ChatRequest request_for(std::vector<Message> history,
                        const std::optional<std::string>& system,
                        Thinking thinking,
                        const ChatTemplate& chat_template);

// An answer as a message: its thought, if it has one, stands apart.
Message answer_message(std::string_view text, bool thought_is_open);

bool ends_with_answer(const std::vector<Message>& history);
// Requires: ends_with_answer.
void drop_last_answer(std::vector<Message>& history);
// False: there is no turn.
bool drop_last_turn(std::vector<Message>& history);
// Number of messages dropped; 0: there are no two turns.
size_t drop_oldest_turn(std::vector<Message>& history);

}  // namespace maglio::chat

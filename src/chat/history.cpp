#include "chat/history.h"

#include <algorithm>
#include <utility>

#include "chat/thought.h"

namespace maglio::chat {
namespace {

bool is_question(const Message& message) {
  return message.role == Role::user;
}

}  // namespace

ChatRequest request_for(std::vector<Message> history,
                        const std::optional<std::string>& system,
                        Thinking thinking,
                        const ChatTemplate& chat_template) {
  const bool has_own = chat_template.has_own_system();
  if (system && (!system->empty() || has_own)) {
    history.insert(history.begin(), {Role::system, *system});
  }
  ChatRequest request;
  request.messages = message_values(history);
  request.thinking = thinking;
  return request;
}

Message answer_message(std::string_view text, bool thought_is_open) {
  SplitAnswer split = split_thought(text, thought_is_open);
  return {.role = Role::assistant,
          .content = std::move(split.content),
          .reasoning_content = std::move(split.reasoning)};
}

bool ends_with_answer(const std::vector<Message>& history) {
  return !history.empty() && history.back().role == Role::assistant;
}

void drop_last_answer(std::vector<Message>& history) {
  history.pop_back();
}

bool drop_last_turn(std::vector<Message>& history) {
  const auto last = std::find_if(history.rbegin(), history.rend(), is_question);
  if (last == history.rend()) return false;
  history.erase(last.base() - 1, history.end());
  return true;
}

size_t drop_oldest_turn(std::vector<Message>& history) {
  if (history.empty()) return 0;
  const auto second = std::find_if(history.begin() + 1, history.end(), is_question);
  if (second == history.end()) return 0;
  const auto n = static_cast<size_t>(second - history.begin());
  history.erase(history.begin(), second);
  return n;
}

}  // namespace maglio::chat

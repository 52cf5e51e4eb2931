// A chat at the terminal: what its commands work on.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "maglio/conversation.h"
#include "maglio/repl/attachments.h"
#include "maglio/repl/line_reader.h"
#include "maglio/session.h"

namespace maglio::app {

class Chat {
 public:
  // Borrows both.
  Chat(const Session& session, LineReader& lines);

  // Says the message, attached files before it, and prints the answer. An Error is said, and the
  // chat goes on.
  void say(const std::string& message);
  // Takes the last question and its answer back and says something else in their place.
  void say_instead(const std::string& message);
  // Answers the last message again. Requires: conversation().has_answer().
  void regenerate();

  const Session& session() const { return session_; }
  LineReader& lines() { return lines_; }
  Conversation& conversation() { return conversation_; }
  const Conversation& conversation() const { return conversation_; }
  Attachments& attachments() { return attachments_; }

  // Of all answers so far.
  struct Totals {
    size_t answers = 0, computed_tokens = 0, reused_tokens = 0, answer_tokens = 0;
    double prompt_ms = 0, generation_ms = 0;
  };
  const Totals& totals() const { return totals_; }
  const std::optional<Reply>& last_reply() const { return last_reply_; }

  bool shows_timings = false;
  bool hides_thinking = false;

 private:
  void answer(const std::function<Reply(const TextSink&)>& speak);
  void count(const Reply& reply);

  const Session& session_;
  LineReader& lines_;
  Conversation conversation_;
  Attachments attachments_;
  Totals totals_;
  std::optional<Reply> last_reply_;
};

}  // namespace maglio::app

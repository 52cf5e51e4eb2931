#include "maglio/repl/chat.h"

#include <fmt/format.h>

#include <cstdio>

#include "maglio/interrupt.h"
#include "maglio/repl/answer_printer.h"
#include "maglio/repl/timing_line.h"
#include "maglio/speculation_line.h"
#include "maglio/terminal.h"

namespace maglio::app {

Chat::Chat(const Session& session, LineReader& lines)
    : shows_timings(
          session.flags.shows_timings(/*chatting=*/is_terminal(stdin) && is_terminal(stdout))),
      hides_thinking(session.flags.hide_thinking),
      session_(session),
      lines_(lines),
      conversation_(session.model, session.conversation_options()) {}

void Chat::say(const std::string& message) {
  const std::string whole = attachments_.take_with(message);
  answer([&](const TextSink& sink) { return conversation_.send(whole, sink); });
}

void Chat::say_instead(const std::string& message) {
  conversation_.undo_turn();
  say(message);
}

void Chat::regenerate() {
  answer([&](const TextSink& sink) { return conversation_.regenerate(sink); });
}

void Chat::answer(const std::function<Reply(const TextSink&)>& speak) {
  InterruptGuard::clear();
  AnswerPrinter printer(answer_style(hides_thinking), [this] {
    return thought_start(session_.model.tokenizer(), conversation_.tokens());
  });
  try {
    const Reply reply = speak([&](std::string_view piece) { return printer.print(piece); });
    printer.finish();
    if (reply.finish == FinishReason::length) remark("(cut: no more tokens)");
    if (reply.finish == FinishReason::cancelled && reply.ids.empty()) {
      return remark("(stopped while reading; /regen reads on, /undo takes the message back)");
    }
    if (reply.finish == FinishReason::cancelled) remark("(stopped)");
    if (shows_timings) remark(timing_line(reply));
    if (shows_timings && reply.speculation) remark(speculation_line(*reply.speculation));
    count(reply);
  } catch (const Error& error) {
    printer.abandon();
    report(error);
  }
}

void Chat::count(const Reply& reply) {
  ++totals_.answers;
  totals_.reused_tokens += reply.cached_tokens;
  totals_.computed_tokens += reply.prompt_tokens - reply.cached_tokens;
  totals_.answer_tokens += reply.ids.size();
  totals_.prompt_ms += reply.prompt_ms;
  totals_.generation_ms += reply.generation_ms;
  last_reply_ = reply;
}

}  // namespace maglio::app

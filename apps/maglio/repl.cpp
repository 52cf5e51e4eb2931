#include "maglio/repl.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "maglio/line_reader.h"
#include "maglio/speculation_line.h"
#include "maglio/terminal.h"

namespace maglio::app {
namespace {

constexpr const char* kHelp =
    "/regen  answer the last message again\n"
    "/clear  forget the conversation\n"
    "/help   show this\n"
    "/exit   leave (so does Ctrl-D)\n"
    "Ctrl-C stops an answer. A backslash at the end of a line continues the message on the next\n"
    "one; \"\"\" on a line of its own begins and ends a message of several lines.\n";

enum class After { go_on, leave };

class Repl {
 public:
  explicit Repl(const Session& session)
      : options_(session.conversation_options()),
        conversation_(session.model, options_),
        at_terminal_(is_terminal(stdin) && is_terminal(stdout)) {}

  void run() {
    if (!options_.sampler.is_greedy()) remark(fmt::format("seed {}", options_.sampler.seed));
    if (at_terminal_) remark("/help lists the commands, Ctrl-D leaves.");
    while (true) {
      const LineReader::Line message = read_message();
      if (message.end == LineReader::End::end_of_file) return;
      if (message.end == LineReader::End::interrupted) {
        if (interrupts_++ > 0) return;
        remark("Ctrl-C again leaves.");
        continue;
      }
      interrupts_ = 0;
      if (obey_or_answer(message.text) == After::leave) return;
    }
  }

 private:
  // A line, or several that belong together.
  LineReader::Line read_message() {
    InterruptGuard::clear();
    LineReader::Line line = reader_.read(">>> ");
    if (line.end != LineReader::End::none) return line;
    const bool quoted = line.text == "\"\"\"";
    if (quoted) line.text.clear();
    bool first = true;
    while (quoted || line.text.ends_with('\\')) {
      const LineReader::Line next = reader_.read("... ");
      if (next.end != LineReader::End::none) return next;
      if (quoted) {
        if (next.text == "\"\"\"") break;
        line.text += (first ? "" : "\n") + next.text;
      } else {
        line.text.back() = '\n';
        line.text += next.text;
      }
      first = false;
    }
    return line;
  }

  After obey_or_answer(const std::string& text) {
    if (text.find_first_not_of(" \t\r\n") == std::string::npos) return After::go_on;
    if (!text.starts_with('/')) {
      answer([&](const TextSink& sink) { return conversation_.send(text, sink); });
      return After::go_on;
    }
    const std::string command = text.substr(0, text.find_last_not_of(" \t\r") + 1);
    if (command == "/exit" || command == "/quit" || command == "/bye") return After::leave;
    if (command == "/help" || command == "/?") {
      fmt::print(stderr, "{}", kHelp);
    } else if (command == "/clear") {
      conversation_.clear();
    } else if (command == "/regen") {
      if (conversation_.has_answer()) {
        answer([&](const TextSink& sink) { return conversation_.regenerate(sink); });
      } else {
        remark("There is no answer yet.");
      }
    } else {
      remark(fmt::format("{}: no such command; /help lists them.", command));
    }
    return After::go_on;
  }

  template <class Speak>
  void answer(Speak&& speak) {
    InterruptGuard::clear();
    try {
      const Reply reply = speak([](std::string_view piece) {
        std::fwrite(piece.data(), 1, piece.size(), stdout);
        std::fflush(stdout);
        return !InterruptGuard::interrupted();
      });
      if (!reply.text.ends_with('\n')) fmt::print("\n");
      if (reply.finish == FinishReason::length) remark("(cut: no more tokens)");
      if (reply.speculation) remark(speculation_line(*reply.speculation));
    } catch (const Error& error) {
      // The conversation is still whole: say it and go on.
      fmt::print(stderr, "maglio: {}\n", error.message());
    }
    std::fflush(stdout);
  }

  ConversationOptions options_;
  Conversation conversation_;
  bool at_terminal_;
  InterruptGuard guard_;
  LineReader reader_;
  int interrupts_ = 0;
};

}  // namespace

void run_repl(const Session& session) {
  Repl(session).run();
}

}  // namespace maglio::app

#include "maglio/repl/repl.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "maglio/interrupt.h"
#include "maglio/repl/chat.h"
#include "maglio/repl/history_file.h"
#include "maglio/repl/line_reader.h"
#include "maglio/repl/message_reader.h"
#include "maglio/repl/slash_command.h"
#include "maglio/terminal.h"

namespace maglio::app {
namespace {

class Repl {
 public:
  explicit Repl(const Session& session)
      : lines_(session.flags.history ? std::filesystem::path(*session.flags.history)
                                     : HistoryFile::default_path()),
        chat_(session, lines_) {}

  void run() {
    const SamplerConfig& sampler = chat_.conversation().options().sampler;
    if (!sampler.is_greedy()) remark(fmt::format("seed {}", sampler.seed));
    if (is_terminal(stdin) && is_terminal(stdout)) {
      remark("/help lists the commands, Ctrl-D leaves.");
    }
    while (true) {
      const LineReader::Line message = next_message();
      if (message.end == LineReader::End::end_of_file) return;
      if (message.end == LineReader::End::interrupted) {
        if (!message.text.empty()) continue;  // the line is cleared
        if (std::exchange(warned_, true)) return;
        remark("Ctrl-C again leaves.");
        continue;
      }
      warned_ = false;
      if (take(message.text) == After::leave) return;
    }
  }

 private:
  LineReader::Line next_message() {
    InterruptGuard::clear();
    LineReader::Line message =
        read_message([this](const char* prompt) { return lines_.read(prompt); });
    if (message.text.find_first_not_of(" \t\r\n") == std::string::npos) message.text.clear();
    if (message.end == LineReader::End::none) lines_.remember(message.text);
    return message;
  }

  After take(const std::string& message) {
    if (message.empty()) return After::go_on;
    try {
      if (message.starts_with('/') && !message.starts_with("//")) return obey(chat_, message);
      chat_.say(message.starts_with("//") ? message.substr(1) : message);
    } catch (const Error& error) {
      report(error);
      return After::go_on;
    }
    return chat_.session().flags.single_turn ? After::leave : After::go_on;
  }

  InterruptGuard guard_;
  LineReader lines_;
  Chat chat_;
  bool warned_ = false;  // that another Ctrl-C leaves
};

}  // namespace

void run_repl(const Session& session) {
  Repl(session).run();
}

}  // namespace maglio::app

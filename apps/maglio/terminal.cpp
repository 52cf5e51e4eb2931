#include "maglio/terminal.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "maglio/harmless.h"

namespace maglio::app {
namespace {

Colour g_colour = Colour::automatic;

}  // namespace

bool is_terminal(std::FILE* stream) {
  return isatty(fileno(stream)) == 1;
}

void set_colour(Colour colour) {
  g_colour = colour;
}

bool use_colour(std::FILE* stream) {
  if (g_colour != Colour::automatic) return g_colour == Colour::on;
  const char* no_color = std::getenv("NO_COLOR");
  return is_terminal(stream) && (no_color == nullptr || *no_color == '\0');
}

void to_stderr(std::string_view text) {
  [[maybe_unused]] const size_t written = std::fwrite(text.data(), 1, text.size(), stderr);
}

void remark(const std::string& text) {
  std::fflush(stdout);
  const bool dim = use_colour(stderr);
  to_stderr(fmt::format("{}{}{}\n", dim ? "\x1b[2m" : "", harmless(text), dim ? "\x1b[0m" : ""));
}

void report(const Error& error) {
  std::fflush(stdout);
  to_stderr(fmt::format("maglio: {}\n", harmless(error.message())));
}

ProgressNote::ProgressNote(const std::string& text) : shown_(is_terminal(stderr)) {
  update(text);
}

void ProgressNote::update(const std::string& text) {
  if (!shown_) return;
  to_stderr(fmt::format("\r\x1b[K{}", harmless(text)));
  std::fflush(stderr);
}

ProgressNote::~ProgressNote() {
  if (shown_) to_stderr("\r\x1b[K");
}

void explain_cut_files() {
  struct sigaction action = {};
  action.sa_handler = [](int) {
    constexpr char kText[] =
        "\nmaglio: a model file was cut short while it was being read; it must not be changed "
        "while "
        "it is in use\n";
    [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, kText, sizeof kText - 1);
    _exit(1);
  };
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace maglio::app

#include "maglio/terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

namespace maglio::app {
namespace {

constexpr int kInterruptedExit = 130;  // 128 + SIGINT, as shells have it

volatile sig_atomic_t g_interrupted = 0;
struct sigaction g_previous;
int g_wake[2] = {-1, -1};  // a pipe: the handler writes, whoever waits for the keyboard polls

void on_interrupt(int) {
  if (g_interrupted != 0) _exit(kInterruptedExit);
  g_interrupted = 1;
  [[maybe_unused]] const ssize_t n = ::write(g_wake[1], "", 1);  // a full pipe wakes as well
}

}  // namespace

bool is_terminal(std::FILE* stream) {
  return isatty(fileno(stream)) == 1;
}

bool use_colour(std::FILE* stream) {
  const char* no_color = std::getenv("NO_COLOR");
  return is_terminal(stream) && (no_color == nullptr || *no_color == '\0');
}

void remark(const std::string& text) {
  const bool dim = use_colour(stderr);
  fmt::print(stderr, "{}{}{}\n", dim ? "\x1b[2m" : "", text, dim ? "\x1b[0m" : "");
}

ProgressNote::ProgressNote(const std::string& text) : shown_(is_terminal(stderr)) {
  update(text);
}

void ProgressNote::update(const std::string& text) {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K{}", text);
  std::fflush(stderr);
}

ProgressNote::~ProgressNote() {
  if (shown_) fmt::print(stderr, "\r\x1b[K");
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

InterruptGuard::InterruptGuard() {
  g_interrupted = 0;
  if (::pipe2(g_wake, O_NONBLOCK | O_CLOEXEC) != 0) g_wake[0] = g_wake[1] = -1;
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART;  // a write must not be cut
  sigaction(SIGINT, &action, &g_previous);
}

InterruptGuard::~InterruptGuard() {
  sigaction(SIGINT, &g_previous, nullptr);
  for (int& end : g_wake) {
    if (end >= 0) ::close(end);
    end = -1;
  }
}

int InterruptGuard::wake_fd() {
  return g_wake[0];
}

bool InterruptGuard::interrupted() {
  return g_interrupted != 0;
}

void InterruptGuard::clear() {
  g_interrupted = 0;
  char bytes[16];
  while (::read(g_wake[0], bytes, sizeof bytes) > 0) {
  }
}

}  // namespace maglio::app

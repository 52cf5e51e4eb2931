#include "maglio/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <utility>

#include "maglio/terminal.h"

namespace maglio::app {
namespace {

constexpr int kInterruptedExit = 130;  // 128 + SIGINT, as shells have it

volatile sig_atomic_t g_interrupted = 0, g_suspended = 0, g_resumed = 0, g_resized = 0;
volatile sig_atomic_t g_styled = 0;  // stdout may be in the middle of dim text
struct sigaction g_previous_interrupt, g_previous_stop, g_previous_continue, g_previous_resize;
int g_wake[2] = {-1, -1};  // a pipe: the handlers write, whoever waits for the keyboard polls

void wake() {
  [[maybe_unused]] const ssize_t n = ::write(g_wake[1], "", 1);  // a full pipe wakes as well
}

void on_interrupt(int) {
  if (g_interrupted != 0) {
    constexpr char kPlain[] = "\x1b[0m";
    if (g_styled != 0) {
      [[maybe_unused]] const ssize_t n = ::write(STDOUT_FILENO, kPlain, sizeof kPlain - 1);
    }
    _exit(kInterruptedExit);
  }
  g_interrupted = 1;
  wake();
}

void on_edit_signal(int signal) {
  if (signal == SIGTSTP) g_suspended = 1;
  if (signal == SIGCONT) g_resumed = 1;
  if (signal == SIGWINCH) g_resized = 1;
  wake();
}

void install(int signal, void (*handler)(int), struct sigaction* previous) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;  // a write must not be cut
  sigaction(signal, &action, previous);
}

bool take(volatile sig_atomic_t& flag) {
  const bool was = flag != 0;
  flag = 0;
  return was;
}

}  // namespace

InterruptGuard::InterruptGuard() {
  g_interrupted = 0;
  g_styled = use_colour(stdout) ? 1 : 0;
  if (::pipe2(g_wake, O_NONBLOCK | O_CLOEXEC) != 0) g_wake[0] = g_wake[1] = -1;
  install(SIGINT, on_interrupt, &g_previous_interrupt);
}

InterruptGuard::~InterruptGuard() {
  sigaction(SIGINT, &g_previous_interrupt, nullptr);
  for (int& end : g_wake) {
    if (end >= 0) ::close(end);
    end = -1;
  }
}

int InterruptGuard::wake_fd() {
  return g_wake[0];
}

void InterruptGuard::drain_wake_fd() {
  char bytes[16];
  while (::read(g_wake[0], bytes, sizeof bytes) > 0) {
  }
}

bool InterruptGuard::interrupted() {
  return g_interrupted != 0;
}

void InterruptGuard::clear() {
  g_interrupted = 0;
  drain_wake_fd();
}

EditSignals::EditSignals() {
  g_suspended = 0;
  g_resumed = 0;
  g_resized = 0;
  install(SIGTSTP, on_edit_signal, &g_previous_stop);
  install(SIGCONT, on_edit_signal, &g_previous_continue);
  install(SIGWINCH, on_edit_signal, &g_previous_resize);
}

EditSignals::~EditSignals() {
  sigaction(SIGTSTP, &g_previous_stop, nullptr);
  sigaction(SIGCONT, &g_previous_continue, nullptr);
  sigaction(SIGWINCH, &g_previous_resize, nullptr);
}

bool EditSignals::take_suspended() {
  return take(g_suspended);
}
bool EditSignals::take_resumed() {
  return take(g_resumed);
}
bool EditSignals::take_resized() {
  return take(g_resized);
}

void EditSignals::suspend() {
  sigaction(SIGTSTP, &g_previous_stop, nullptr);
  ::raise(SIGTSTP);
  install(SIGTSTP, on_edit_signal, &g_previous_stop);
}

}  // namespace maglio::app

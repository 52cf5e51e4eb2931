#include "support/terminal_program.h"

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>

namespace maglio::test {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

}  // namespace

TerminalProgram::TerminalProgram(const std::vector<std::string>& args,
                                 const Environment& environment) {
  winsize size{};
  size.ws_row = 24;
  size.ws_col = 80;
  pid_ = ::forkpty(&terminal_, nullptr, nullptr, &size);
  if (pid_ < 0) throw std::runtime_error("forkpty");
  if (pid_ == 0) exec_program(args, environment);
}

TerminalProgram::~TerminalProgram() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    wait_for(pid_);
  }
  ::close(terminal_);
}

void TerminalProgram::type(std::string_view keys) {
  while (!keys.empty()) {
    const ssize_t n = ::write(terminal_, keys.data(), keys.size());
    if (n <= 0) throw std::runtime_error("cannot type");
    keys.remove_prefix(static_cast<size_t>(n));
  }
}

bool TerminalProgram::await(std::string_view text) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    const size_t at = screen_.find(text, awaited_);
    if (at != std::string::npos) {
      awaited_ = at + text.size();
      return true;
    }
    if (std::chrono::steady_clock::now() > end || !read_some(200)) return false;
  }
}

bool TerminalProgram::await_prompt(std::string_view prompt) {
  if (!await(prompt)) return false;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    termios mode{};
    if (::tcgetattr(terminal_, &mode) == 0 && (mode.c_lflag & ICANON) == 0) return true;
    if (std::chrono::steady_clock::now() > end || !read_some(5)) return false;
  }
}

bool TerminalProgram::await_row(std::string_view row) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (display_.cursor_row() != row) {
    if (std::chrono::steady_clock::now() > end || !read_some(200)) return false;
  }
  awaited_ = screen_.size();
  return true;
}

void TerminalProgram::resize(unsigned short n_columns, unsigned short n_rows) {
  winsize size{};
  size.ws_row = n_rows;
  size.ws_col = n_columns;
  if (::ioctl(terminal_, TIOCSWINSZ, &size) != 0) throw std::runtime_error("cannot resize");
  display_ = Screen(n_columns, n_rows);
}

void TerminalProgram::signal(int number) {
  ::kill(pid_, number);
}

int TerminalProgram::exit_code() {
  return exit_code_after("");
}

int TerminalProgram::exit_code_after(std::string_view keys) {
  using std::chrono::steady_clock;
  const auto end = steady_clock::now() + kPatience;
  type(keys);
  auto typed = steady_clock::now();
  while (read_some(200)) {
    if (steady_clock::now() > end) return -1;
    if (steady_clock::now() - typed < std::chrono::seconds(1)) continue;
    type(keys);
    typed = steady_clock::now();
  }
  const int code = wait_for(pid_);
  pid_ = -1;
  return code;
}

// False when the program has closed its terminal.
bool TerminalProgram::read_some(int timeout_ms) {
  pollfd waiting{terminal_, POLLIN, 0};
  if (::poll(&waiting, 1, timeout_ms) == 0) return true;
  char buffer[4096];
  const ssize_t n = ::read(terminal_, buffer, sizeof buffer);
  if (n <= 0) return false;
  screen_.append(buffer, static_cast<size_t>(n));
  display_.write({buffer, static_cast<size_t>(n)});
  return true;
}

}  // namespace maglio::test

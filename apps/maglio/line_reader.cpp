#include "maglio/line_reader.h"

#include <histedit.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <filesystem>
#include <iostream>

#include "maglio/terminal.h"

namespace maglio::app {
namespace {

constexpr int kHistoryLines = 1000;

const char* g_prompt = "";  // libedit asks for it by callback
bool g_interrupted = false;

char* current_prompt(EditLine*) {
  return const_cast<char*>(g_prompt);
}

// One character from the keyboard. libedit's own reader swallows the first Ctrl-C.
int read_character(EditLine*, wchar_t* out) {
  std::mbstate_t state{};
  while (true) {
    pollfd sources[] = {{STDIN_FILENO, POLLIN, 0}, {InterruptGuard::wake_fd(), POLLIN, 0}};
    if (::poll(sources, 2, -1) < 0 && errno != EINTR) return -1;
    if (InterruptGuard::interrupted()) {
      g_interrupted = true;
      return -1;
    }
    if (sources[0].revents == 0) continue;  // a resized window
    char byte;
    const ssize_t n = ::read(STDIN_FILENO, &byte, 1);
    if (n <= 0) return static_cast<int>(n);
    const size_t used = std::mbrtowc(out, &byte, 1, &state);
    if (used == static_cast<size_t>(-1)) state = {};  // no character: skip the byte
    if (used <= 1) return 1;
  }
}

// $XDG_STATE_HOME/maglio/history, as the XDG base directory specification has it.
std::filesystem::path history_path() {
  std::filesystem::path base;
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state != '\0') {
    base = state;
  } else if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    base = std::filesystem::path(home) / ".local/state";
  } else {
    return {};
  }
  return base / "maglio/history";
}

}  // namespace

struct LineReader::Editor {
  EditLine* line;
  History* history;
  HistEvent event;
  std::filesystem::path history_file = history_path();

  Editor() : line(el_init("maglio", stdin, stdout, stderr)), history(history_init()), event{} {
    ::history(history, &event, H_SETSIZE, kHistoryLines);
    ::history(history, &event, H_SETUNIQUE, 1);
    if (!history_file.empty()) ::history(history, &event, H_LOAD, history_file.c_str());
    el_set(line, EL_PROMPT, current_prompt);
    el_set(line, EL_EDITOR, "emacs");
    el_set(line, EL_HIST, ::history, history);
    el_set(line, EL_GETCFN, read_character);
    el_set(line, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    el_source(line, nullptr);  // the user's ~/.editrc
  }
  ~Editor() {
    save_history();
    history_end(history);
    el_end(line);
  }
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;

  // A history that cannot be kept is no reason to disturb a chat.
  void save_history() {
    if (history_file.empty()) return;
    std::error_code ignored;
    std::filesystem::create_directories(history_file.parent_path(), ignored);
    ::history(history, &event, H_SAVE, history_file.c_str());
  }
};

LineReader::LineReader() {
  if (!is_terminal(stdin) || !is_terminal(stdout)) return;
  std::setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
  editor_ = std::make_unique<Editor>();
}

LineReader::~LineReader() = default;

LineReader::Line LineReader::read(const char* prompt) {
  if (!editor_) {
    std::string text;
    if (!std::getline(std::cin, text)) return {"", End::end_of_file};
    return {std::move(text), End::none};
  }
  g_prompt = prompt;
  g_interrupted = false;
  int n_bytes = 0;
  const char* text = el_gets(editor_->line, &n_bytes);
  if (text == nullptr || n_bytes <= 0) {
    std::fputs("\n", stdout);
    if (g_interrupted) el_reset(editor_->line);
    return {"", g_interrupted ? End::interrupted : End::end_of_file};
  }
  std::string line(text, static_cast<size_t>(n_bytes));
  if (line.find_first_not_of(" \t\n") != std::string::npos) {
    history(editor_->history, &editor_->event, H_ENTER, line.c_str());
  }
  if (line.ends_with('\n')) line.pop_back();
  return {std::move(line), End::none};
}

}  // namespace maglio::app

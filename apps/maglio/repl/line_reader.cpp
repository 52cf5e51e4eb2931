#include "maglio/repl/line_reader.h"

#include <histedit.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cwchar>
#include <iostream>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "maglio/error.h"
#include "maglio/interrupt.h"
#include "maglio/repl/cells.h"
#include "maglio/repl/history_file.h"
#include "maglio/repl/text_editor.h"
#include "maglio/terminal.h"

namespace maglio::app {
namespace {

constexpr std::string_view kPasteBegins = "\x1b[?2004h", kPasteEnds = "\x1b[?2004l";  // xterm
constexpr std::string_view kEndOfPaste = "\x1b[201~";
constexpr wchar_t kMarkKey = 0x80;  // a control character that no keyboard has
constexpr wchar_t kCtrlH = 8, kCtrlR = 18, kCtrlS = 19;

void write_now(std::string_view bytes) {
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  std::fflush(stdout);
}

// What was pasted, as a message has it. A line ends with \r, \n or both: terminals send the one for
// the other, and libedit lets the system exchange them. Line feeds at the end came with the
// selection.
std::string as_message(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\r' || c == '\n') {
      out += '\n';
      const char other = c == '\r' ? '\n' : '\r';
      if (i + 1 < text.size() && text[i + 1] == other) ++i;
    } else if (c != '\0') {
      out += c;
    }
  }
  while (out.ends_with('\n')) out.pop_back();
  return out;
}

}  // namespace

// libedit calls back without saying for whom, so there is one.
struct LineReader::Editor {
  static Editor* current;

  HistoryFile file;
  Cells cells;
  std::FILE* screen;       // stand-ins become what they stand for on their way to stdout
  std::string unfinished;  // the beginning of a character on that way
  EditLine* line;
  History* history;
  HistEvent event{};
  const char* prompt = "";
  bool interrupted = false;
  wchar_t marked_cell = 0;          // the cell before the cursor with a mark that has just come
  bool searching = false;           // keys go to libedit's search, not to the line
  std::string typed;                // when Ctrl-C came
  std::optional<char> reread = {};  // a byte that has come, but is not yet a character

  explicit Editor(std::filesystem::path history_file);
  ~Editor();
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;

  void bind_keys();
  void enter(const std::string& message);
  std::string text_of_line() const;
  void replace_line(const std::string& text);
  void set_editing(bool on);
  std::optional<char> read_byte();
  void obey_signals();
  int read_character(wchar_t* out);
  unsigned char paste();
  unsigned char add_mark();
  unsigned char open_editor();
};

LineReader::Editor* LineReader::Editor::current = nullptr;

LineReader::Editor::Editor(std::filesystem::path history_file) : file(std::move(history_file)) {
  current = this;
  const cookie_io_functions_t expanding = {
      .read = nullptr,
      .write = [](void*, const char* bytes, size_t n) -> ssize_t {
        std::string& held = current->unfinished;
        held.append(bytes, n);
        const size_t whole = complete_utf8_size(held);
        write_now(current->cells.to_text(std::string_view(held).substr(0, whole)));
        held.erase(0, whole);
        return static_cast<ssize_t>(n);
      },
      .seek = nullptr,
      .close = nullptr};
  screen = ::fopencookie(nullptr, "w", expanding);
  line = el_init_fd("maglio", stdin, screen, stderr, STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO);
  history = history_init();
  ::history(history, &event, H_SETSIZE, static_cast<int>(HistoryFile::kMessages));
  ::history(history, &event, H_SETUNIQUE, 1);
  for (const std::string& message : file.load()) enter(message);
  el_set(line, EL_PROMPT, +[](EditLine*) { return const_cast<char*>(current->prompt); });
  el_set(line, EL_EDITOR, "emacs");
  el_set(line, EL_HIST, ::history, history);
  el_set(line, EL_GETCFN, +[](EditLine*, wchar_t* c) { return current->read_character(c); });
  bind_keys();
  el_source(line, nullptr);  // the user's ~/.editrc
}

LineReader::Editor::~Editor() {
  history_end(history);
  el_end(line);
  std::fclose(screen);
  current = nullptr;
}

// Where readline, which hands have learnt, differs from libedit.
void LineReader::Editor::bind_keys() {
  el_set(
      line, EL_ADDFN, "maglio-paste", "Insert what the terminal pastes",
      +[](EditLine*, int) { return current->paste(); });
  el_set(
      line, EL_ADDFN, "maglio-mark", "Put a mark on the letter before the cursor",
      +[](EditLine*, int) { return current->add_mark(); });
  el_set(
      line, EL_ADDFN, "maglio-editor", "Open the line in $VISUAL or $EDITOR",
      +[](EditLine*, int) { return current->open_editor(); });
  constexpr const char* kBindings[][2] = {
      {"^R", "em-inc-search-prev"},      {"^S", "em-inc-search-next"}, {"^U", "vi-kill-line-prev"},
      {"^W", "ed-delete-prev-word"},     {"^G", "maglio-editor"},      {"\\200", "maglio-mark"},
      {"\\e[200~", "maglio-paste"},      {"\\e[1~", "ed-move-to-beg"}, {"\\e[4~", "ed-move-to-end"},
      {"\\e[3~", "ed-delete-next-char"}, {"\\e[H", "ed-move-to-beg"},  {"\\e[F", "ed-move-to-end"},
      {"\\e[1;5C", "em-next-word"},      {"\\e[1;5D", "ed-prev-word"}, {"\\eOH", "ed-move-to-beg"},
      {"\\eOF", "ed-move-to-end"}};
  for (const auto& [key, command] : kBindings) el_set(line, EL_BIND, key, command, nullptr);
}

void LineReader::Editor::enter(const std::string& message) {
  std::string stored;
  for (wchar_t c : cells.from_text(message)) append_utf8(stored, static_cast<char32_t>(c));
  ::history(history, &event, H_ENTER, stored.c_str());
}

std::string LineReader::Editor::text_of_line() const {
  const LineInfoW* info = el_wline(line);
  std::string stored;
  for (const wchar_t* c = info->buffer; c != info->lastchar; ++c) {
    append_utf8(stored, static_cast<char32_t>(*c));
  }
  return cells.to_text(stored);
}

void LineReader::Editor::replace_line(const std::string& text) {
  const LineInfoW* info = el_wline(line);
  el_cursor(line, static_cast<int>(info->lastchar - info->cursor));
  el_deletestr(line, static_cast<int>(info->lastchar - info->buffer));
  el_winsertstr(line, cells.from_text(text).c_str());
}

// Whether the terminal is libedit's: it is the user's again while another program has it.
void LineReader::Editor::set_editing(bool on) {
  if (!on) write_now(kPasteEnds);
  el_set(line, EL_PREP_TERM, on ? 1 : 0);
  if (on) write_now(kPasteBegins);
}

void LineReader::Editor::obey_signals() {
  InterruptGuard::drain_wake_fd();
  bool redraw = EditSignals::take_resized();
  if (redraw) el_resize(line);
  if (EditSignals::take_suspended()) {
    set_editing(false);
    EditSignals::suspend();
    set_editing(true);
    EditSignals::take_resumed();
    redraw = true;
  }
  if (EditSignals::take_resumed()) {  // stopped by a signal that cannot be caught
    set_editing(false);
    set_editing(true);
    redraw = true;
  }
  if (redraw) {
    write_now("\r\x1b[J");
    el_set(line, EL_REFRESH);
  }
}

// A byte from the keyboard; nothing at its end, and after Ctrl-C. libedit's own reader swallows the
// first Ctrl-C.
std::optional<char> LineReader::Editor::read_byte() {
  while (true) {
    pollfd sources[] = {{STDIN_FILENO, POLLIN, 0}, {InterruptGuard::wake_fd(), POLLIN, 0}};
    if (::poll(sources, 2, -1) < 0 && errno != EINTR) return std::nullopt;
    if (InterruptGuard::interrupted()) {
      interrupted = true;
      typed = text_of_line();
      return std::nullopt;
    }
    if (sources[1].revents != 0) obey_signals();
    if (sources[0].revents == 0) continue;
    char byte;
    if (::read(STDIN_FILENO, &byte, 1) != 1) return std::nullopt;
    return byte;
  }
}

// As libedit wants it: 1 and a character, 0 at the end, -1 after Ctrl-C. Bytes that are no
// character are shown as U+FFFD; the one that ends a broken character may be a character itself.
int LineReader::Editor::read_character(wchar_t* out) {
  std::mbstate_t state{};
  for (size_t n_before = 0;; ++n_before) {
    const auto byte = reread ? std::exchange(reread, {}) : read_byte();
    if (!byte) return interrupted ? -1 : 0;
    const size_t used = std::mbrtowc(out, &*byte, 1, &state);
    if (used <= 1) break;
    if (used != static_cast<size_t>(-1)) continue;
    if (n_before > 0) reread = byte;
    *out = static_cast<wchar_t>(kReplacement);
    break;
  }
  if (*out == kCtrlR || *out == kCtrlS)
    searching = true;
  else if (*out < L' ' && *out != kCtrlH)
    searching = false;
  const LineInfoW* info = el_wline(line);
  if (Cells::is_mark(*out) && !searching && info->cursor != info->buffer) {
    marked_cell = cells.join(info->cursor[-1], *out);
    *out = kMarkKey;
  }
  return 1;
}

unsigned char LineReader::Editor::paste() {
  std::string text;
  while (!text.ends_with(kEndOfPaste)) {
    const auto byte = read_byte();
    if (!byte) return interrupted ? CC_EOF : CC_REFRESH;
    text += *byte;
  }
  text.resize(text.size() - kEndOfPaste.size());
  const std::wstring pasted = cells.from_text(as_message(text));
  if (!pasted.empty()) el_winsertstr(line, pasted.c_str());
  return CC_REFRESH;
}

unsigned char LineReader::Editor::add_mark() {
  const wchar_t cell[] = {std::exchange(marked_cell, 0), 0};
  if (cell[0] == 0) return CC_ERROR;
  el_deletestr(line, 1);
  el_winsertstr(line, cell);
  return CC_REFRESH;
}

// Nothing may be thrown through libedit.
unsigned char LineReader::Editor::open_editor() {
  set_editing(false);
  try {
    replace_line(edit_in_editor(text_of_line()));
  } catch (const Error& error) {
    remark("\n" + error.message());
  }
  set_editing(true);
  return CC_REDISPLAY;
}

LineReader::LineReader(std::filesystem::path history_file) {
  if (!is_terminal(stdin) || !is_terminal(stdout)) return;
  std::setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
  editor_ = std::make_unique<Editor>(std::move(history_file));
}

LineReader::~LineReader() = default;

LineReader::Line LineReader::read(const char* prompt) {
  if (!editor_) {
    std::string text;
    if (!std::getline(std::cin, text)) return {"", End::end_of_file};
    return {std::move(text), End::none};
  }
  Editor& editor = *editor_;
  editor.prompt = prompt;
  editor.interrupted = editor.searching = false;
  int n_bytes = 0;
  const EditSignals signals;
  write_now(kPasteBegins);
  const char* stored = el_gets(editor.line, &n_bytes);
  write_now(kPasteEnds);
  if (stored == nullptr || n_bytes <= 0) {
    write_now("\n");
    if (!editor.interrupted) return {"", End::end_of_file};
    el_reset(editor.line);
    return {std::move(editor.typed), End::interrupted};
  }
  std::string text = editor.cells.to_text({stored, static_cast<size_t>(n_bytes)});
  if (text.ends_with('\n')) text.pop_back();
  return {std::move(text), End::none};
}

void LineReader::remember(const std::string& message) {
  if (!editor_ || !keeps_history_) return;
  editor_->enter(message);
  editor_->file.add(message);
}

}  // namespace maglio::app

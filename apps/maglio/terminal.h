// What the program may assume about the terminal, and the user's Ctrl-C.
#pragma once

#include <cstdio>
#include <string>

namespace maglio::app {

bool is_terminal(std::FILE* stream);

// Colour only on a terminal, and never where NO_COLOR is set (no-color.org).
bool use_colour(std::FILE* stream);

// A remark beside the answer: on stderr, dim where there is colour, ended with a line feed.
void remark(const std::string& text);

// A line on stderr while something takes its time; gone when it ends. Silent off a terminal.
class ProgressNote {
 public:
  explicit ProgressNote(const std::string& text);
  void update(const std::string& text);  // in its place
  ~ProgressNote();
  ProgressNote(const ProgressNote&) = delete;
  ProgressNote& operator=(const ProgressNote&) = delete;

 private:
  bool shown_;
};

// Lets the program end with a sentence where a mapped file is cut short while it is being read, of
// which the system tells by SIGBUS; a cut that is noticed between two steps is an Error like
// others.
void explain_cut_files();

// While it lives, the first Ctrl-C is only noted; a second one before clear() ends the program.
// At most one at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool interrupted();
  static void clear();
  // Becomes readable with Ctrl-C: for poll, which a signal on another thread would not wake.
  static int wake_fd();
};

}  // namespace maglio::app

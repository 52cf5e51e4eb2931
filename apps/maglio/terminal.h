// What the program may assume about the terminal, and what it says there beside the answer.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "maglio/error.h"

namespace maglio::app {

bool is_terminal(std::FILE* stream);

// What --color says. One for the process, as there is one terminal.
enum class Colour : uint8_t { automatic, on, off };
void set_colour(Colour colour);

// By itself colour is only on a terminal, and never where NO_COLOR is set (no-color.org).
bool use_colour(std::FILE* stream);

// Text for stderr, as it is. One that nobody can read is lost, and ends nothing: an answer may
// still be going to stdout.
void to_stderr(std::string_view text);

// A remark beside the answer: on stderr, dim where there is colour, ended with a line feed.
// Control characters are made harmless.
void remark(const std::string& text);

// "maglio: message", on stderr.
void report(const Error& error);

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

}  // namespace maglio::app

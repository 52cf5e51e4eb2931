// Reads what a user types, a line at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace maglio::app {

// With line editing and history (libedit) at a terminal, plainly otherwise. At most one at a time.
class LineReader {
 public:
  LineReader();
  ~LineReader();

  enum class End { none, end_of_file, interrupted };
  struct Line {
    std::string text;  // without the line feed
    End end = End::none;
  };

  // Shows the prompt (at a terminal) and waits for a line.
  Line read(const char* prompt);

 private:
  struct Editor;
  std::unique_ptr<Editor> editor_;  // only at a terminal
};

}  // namespace maglio::app

// Reads what a user types, a line at a time.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace maglio::app {

// With line editing and history (libedit) at a terminal, plainly otherwise. Several lines that are
// pasted, recalled or come from the editor are one line with line feeds in it. At most one at a
// time. Requires: an InterruptGuard.
class LineReader {
 public:
  explicit LineReader(std::filesystem::path history_file);
  ~LineReader();

  enum class End { none, end_of_file, interrupted };
  struct Line {
    std::string text;  // without the line feed; if interrupted, what had been typed
    End end = End::none;
  };

  // Shows the prompt (at a terminal) and waits for a line.
  Line read(const char* prompt);

  // Puts a message where the arrow keys find it, and into the history file.
  void remember(const std::string& message);
  // Whether messages are remembered from now on. On at first.
  void keep_history(bool keep) { keeps_history_ = keep; }
  bool keeps_history() const { return keeps_history_; }

 private:
  struct Editor;
  std::unique_ptr<Editor> editor_;  // only at a terminal
  bool keeps_history_ = true;
};

}  // namespace maglio::app

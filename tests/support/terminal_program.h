// A program at a terminal of its own, as a user sits before it.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "support/program.h"
#include "support/screen.h"

namespace maglio::test {

// The terminal has 80 columns and 24 rows.
class TerminalProgram {
 public:
  explicit TerminalProgram(const std::vector<std::string>& args,
                           const Environment& environment = {});
  ~TerminalProgram();  // kills it
  TerminalProgram(const TerminalProgram&) = delete;
  TerminalProgram& operator=(const TerminalProgram&) = delete;

  void type(std::string_view keys);
  // Waits until the terminal has shown `text` after what was awaited before; false after a while,
  // or when the program has ended without it.
  bool await(std::string_view text);
  // The same for a prompt; then waits until the line editor has taken over the terminal, so that
  // keys typed next reach it and not the terminal's own line buffer.
  bool await_prompt(std::string_view prompt);
  // Waits until the row of the cursor shows this, blanks at its end left out.
  bool await_row(std::string_view row);
  void resize(unsigned short n_columns, unsigned short n_rows);
  void signal(int number);
  // Waits for the end of the program.
  int exit_code();
  // Types the keys and waits for the end; types them again each second, because a key that comes
  // while the line editor is taking over the terminal is lost, and a user would press it again.
  int exit_code_after(std::string_view keys);
  const std::string& screen() const { return screen_; }  // everything written so far
  const Screen& display() const { return display_; }     // what is to be seen of it

 private:
  bool read_some(int timeout_ms);

  pid_t pid_ = -1;
  int terminal_ = -1;
  std::string screen_;
  Screen display_{80, 24};
  size_t awaited_ = 0;
};

}  // namespace maglio::test

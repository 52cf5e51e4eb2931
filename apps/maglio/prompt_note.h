// What a terminal shows while a long prompt is read.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "maglio/generation.h"
#include "maglio/terminal.h"

namespace maglio::app {

// "reading [#####...............] 1024 of 4096 tokens, 3 s left".
// The seconds are those since n_before tokens were read.
std::string prompt_text(size_t n_read, size_t n_all, size_t n_before, double seconds);

// Gone when the prompt is read; silent off a terminal. Ctrl-C ends the reading. The first pass
// tells of a new prompt, so the time left is known from the second one on.
class PromptNote {
 public:
  // As a prompt's sink is called.
  bool tell(size_t n_read, size_t n_all);

  // A sink with a note of its own for each prompt.
  static PromptSink sink();

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
  size_t n_before_ = 0;  // tokens that were read then
  std::optional<ProgressNote> note_;
};

}  // namespace maglio::app

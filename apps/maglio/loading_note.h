// What a terminal shows while a model is loaded: how much of it, and how long it will take.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "maglio/terminal.h"

namespace maglio::app {

// "loading NAME [#####...............] 1.2 of 4.7 GB, 3 s left". The time is left out before there
// is anything to tell it from.
std::string loading_text(const std::string& name, uint64_t done, uint64_t all, double seconds);

// Gone when it ends; silent off a terminal.
class LoadingNote {
 public:
  explicit LoadingNote(const std::string& model);
  // As LoadOptions::on_progress calls it.
  void tell(uint64_t done_bytes, uint64_t all_bytes);

 private:
  using Clock = std::chrono::steady_clock;
  std::string name_;
  ProgressNote note_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point told_ = start_;
};

}  // namespace maglio::app

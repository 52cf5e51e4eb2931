// Which guesses are worth their row in the next pass.
//
// A pass gives each stream one token for sure and one more for each guess that comes true. A guess
// comes true with all those before it, or not at all, so chances multiply along a draft. The gate
// takes guesses of all drafts together, the likeliest first, as far as the tokens of a pass grow
// faster than its time:
//
//     (streams + chances taken) / time(streams + guesses taken)    as large as it gets
//
// Where nothing pays, nothing is taken: speculation is off, and a step is a plain step. A batch
// fills its rows with streams and leaves less to guesses by the same rule. Chances are learned
// without guesses being checked (speculation.h), times are not: after a while without any, some are
// checked to see what they cost now, and less often each time that it did not help.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "decode/drafter.h"
#include "decode/step_times.h"

namespace maglio {

// For one model on one machine; streams that take their steps together share one. Not thread-safe.
class Gate {
 public:
  using Clock = std::function<std::chrono::nanoseconds()>;

  static constexpr size_t kMostGuesses = 32;  // in a pass: rows of logits are memory
  static constexpr size_t kFirstPause = 128, kLongestPause = 1024;  // steps without a guess

  // The clock is asked before and after each pass; tests bring their own.
  explicit Gate(Clock clock = steady_clock());

  // How many guesses of each draft to check, from its first one on. drafts: one a stream.
  std::vector<size_t> choose(std::span<const Draft* const> drafts);

  // Around a pass of n_rows rows for whose streams choose was asked.
  void start() { started_ = clock_(); }
  void stop(size_t n_rows);

  const StepTimes& times() const { return times_; }

 private:
  static Clock steady_clock();

  Clock clock_;
  std::chrono::nanoseconds started_{};
  StepTimes times_;
  size_t n_idle_ = 0;  // steps since guesses were checked
  size_t pause_ = kFirstPause;
  bool on_trial_ = false;  // guesses were chosen to see what they cost
};

}  // namespace maglio

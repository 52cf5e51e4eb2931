// The user's Ctrl-C.
#pragma once

namespace maglio::app {

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
  // Becomes readable with Ctrl-C and with EditSignals: for poll, which a signal on another thread
  // would not wake.
  static int wake_fd();
  static void drain_wake_fd();
};

// While it lives, what happens to the terminal around a line that is being edited is noted too:
// Ctrl-Z, the return from it, another window size. Requires: an InterruptGuard.
class EditSignals {
 public:
  EditSignals();
  ~EditSignals();
  EditSignals(const EditSignals&) = delete;
  EditSignals& operator=(const EditSignals&) = delete;

  // Each says it once.
  static bool take_suspended();
  static bool take_resumed();
  static bool take_resized();
  // Stops the program, as Ctrl-Z does, until it is resumed.
  static void suspend();
};

}  // namespace maglio::app

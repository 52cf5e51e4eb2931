// The chat at the terminal.
#pragma once

#include "maglio/session.h"

namespace maglio::app {

// Turn by turn until /exit, Ctrl-D, or Ctrl-C twice; with --single-turn one turn. At a terminal
// with line editing and history; from a pipe each message is a turn.
void run_repl(const Session& session);

}  // namespace maglio::app

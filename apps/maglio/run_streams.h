// maglio run --streams N: several prompts or questions at once, in lockstep.
#pragma once

#include "maglio/session.h"

namespace maglio::app {

// Line i of the prompt file, or of the pipe, is stream i, with the seed and i; N of them at a time.
// A text given on the command line is every stream's. Prints the answers in the order of the input,
// a line feed behind each, or one JSON object a line; the speed of all together on stderr.
// Throws: Error bad_request "TooFewPrompts" for fewer lines than streams; and, once all is printed,
// "StreamsFailed" where single streams have.
void run_streams(const Session& session);

}  // namespace maglio::app

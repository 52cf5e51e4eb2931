// What an answer took, in one line.
#pragma once

#include <string>

#include "maglio/generation.h"

namespace maglio::app {

// "tokens: 4 + 12 reused, 133.2/s · first 0.03 s · answer 56, 45.6/s · all 1.30 s": the prompt's
// tokens that were computed and those that the cache held, and how many a second were computed; the
// seconds from the question to the first token of the answer; the answer's tokens, and how many
// came a second after the first; the seconds of all. A rate of which nothing was measured is left
// out.
std::string timing_line(const Reply& reply);

}  // namespace maglio::app

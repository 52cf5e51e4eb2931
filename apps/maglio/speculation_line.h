// What speculation did for an answer, for the eye.
#pragma once

#include <string>

#include "maglio/generation.h"

namespace maglio::app {

// "speculation: 64 tokens in 21 steps; 40 of 52 guesses right (conversation 38/48, recycled 2/4);
// 9 verify, 12 plain, 3 gated off, 4 bonus", on one line.
std::string speculation_line(const SpeculationStats& stats);

}  // namespace maglio::app

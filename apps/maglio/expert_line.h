// What reading experts from disk came to, for the eye.
#pragma once

#include <string>

#include "maglio/expert_cache.h"

namespace maglio::app {

// "experts: 61 % of 4608 asked for were in memory (pinned 20 %), 5 % came in time to be waited for;
// 5210 reads, 4.52 GB; waited 3.21 s; lookahead foretold 88 %; room for 1024 of 6144 (512 pinned)",
// on one line. Since the model was loaded.
std::string expert_line(const ExpertCacheStats& stats);

}  // namespace maglio::app

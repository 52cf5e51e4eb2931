// How far something has come, as a line on a terminal shows it.
#pragma once

#include <cstdint>
#include <string>

namespace maglio::app {

// "[######..............]". Requires: done <= all.
std::string progress_bar(uint64_t done, uint64_t all);

// ", 6 s left", from the seconds so far; nothing before there is anything to tell it from.
std::string time_left(uint64_t done, uint64_t all, double seconds);

}  // namespace maglio::app

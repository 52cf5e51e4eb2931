// Validators for flags that take numbers. They say what the flag takes and what was found; the
// parser's own words would be "Could not convert".
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>

namespace maglio::app {

// Accepts the decimal numbers from `low` to `high`; the parser itself would take more and clamp.
CLI::Validator whole_number(int64_t low, int64_t high = std::numeric_limits<int64_t>::max());

// Accepts decimal numbers that are finite, from `low` to `high`.
CLI::Validator real_number(double low = std::numeric_limits<float>::lowest(),
                           double high = std::numeric_limits<float>::max());

}  // namespace maglio::app

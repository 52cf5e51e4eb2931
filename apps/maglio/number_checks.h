// A validator for flags that take whole numbers.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace maglio::app {

// Accepts the decimal numbers from `low` to 2^63 - 1; the parser itself would take more and clamp.
CLI::Validator whole_number(int64_t low);

}  // namespace maglio::app

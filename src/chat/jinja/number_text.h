// Numbers as Python prints and reads them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "chat/jinja/value.h"

namespace maglio::jinja {

std::string print(Int n);
// The shortest text that reads back as the same number: 1000.0, 1e+16, 0.1, inf.
std::string print(double x);
// int("..") and float(".."): white space around, underscores between digits.
std::optional<Int> parse_integer(std::string_view text, int base = 10);
std::optional<double> parse_real(std::string_view text);

}  // namespace maglio::jinja

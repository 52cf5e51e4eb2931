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
// int("..") and float(".."): white space around, underscores between digits. An Int is not as wide
// as Python's; for what is a whole number to Python, and wider, parse_integer finds nothing and
// is_integer is true.
std::optional<Int> parse_integer(std::string_view text, int base = 10);
bool is_integer(std::string_view text, int base = 10);
std::optional<double> parse_real(std::string_view text);
// A real that has no fraction and fits, as the integer that it is.
std::optional<Int> exact_integer(double x);

}  // namespace maglio::jinja

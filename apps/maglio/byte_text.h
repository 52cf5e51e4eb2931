// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace maglio::app {

std::string grouped(uint64_t n);  // 1234567: "1,234,567"
std::string sized(double bytes);  // "610.1 MiB", "448 MiB"

}  // namespace maglio::app

// Text from a file, fit for one line of a message or a terminal.
//
// What a file says may be hostile: control characters steer a terminal, and the characters that
// turn the direction of writing make a name read as another. Those, quotes, backslashes and bytes
// that are not UTF-8 become escapes (\n, \x1b, \xff); every other character stays.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace maglio {

// What exceeds max_bytes (cut at a character) becomes "… (70000 bytes)".
std::string escaped(std::string_view text, size_t max_bytes = 96);

}  // namespace maglio

// Escapes in text from a command line, where a line feed is hard to type.
#pragma once

#include <string>
#include <string_view>

namespace maglio::app {

// \n \t \r \\ \' \" \xHH become the characters that they name; anything else stays as it is.
std::string with_escapes_read(std::string_view text);

}  // namespace maglio::app

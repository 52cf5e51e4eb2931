// Text from a file or a pipe.
#pragma once

#include <string>

namespace maglio::app {

// The whole file; "-" is stdin. Throws: Error io.
std::string read_text(const std::string& path);
std::string read_stdin();

}  // namespace maglio::app

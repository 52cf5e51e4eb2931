// Scripts that let a shell complete the program's commands and flags.
#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace maglio::app {

enum class Shell : uint8_t { bash, zsh, fish };

// Made from the parser, so that they know what it knows: commands, flags, and the values of flags
// that take one of a few. Where a flag takes something else, files are offered.
std::string completion_script(const CLI::App& app, Shell shell);

}  // namespace maglio::app

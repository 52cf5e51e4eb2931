// What to say to somebody who wrote a command or a flag that is not there.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace maglio::app {

// The first argument that the parser could do nothing with, the nearest name that it knows, and
// where help is. Requires: there is one.
std::string about_stray_argument(const CLI::App& app);

}  // namespace maglio::app

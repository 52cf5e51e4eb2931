// What `maglio --version` says.
#pragma once

#include <string>

namespace maglio::app {

// "maglio 0.1.0 (g++ 12.2.0, x86_64)" and the instruction set in use.
std::string version_text();

}  // namespace maglio::app

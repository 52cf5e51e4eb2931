// ~/file, as shells read it.
#pragma once

#include <cstdlib>
#include <string>

namespace maglio::app {

inline std::string with_home(const std::string& path) {
  const char* home = std::getenv("HOME");
  return path.starts_with("~/") && home != nullptr ? home + path.substr(1) : path;
}

}  // namespace maglio::app

// Text without the quotes around it.
#pragma once

#include <string_view>

namespace maglio::app {

// A pair of " or of ' that the whole stands between.
inline std::string_view unquoted(std::string_view text) {
  const bool quoted = text.size() >= 2 && text.front() == text.back() &&
                      (text.front() == '"' || text.front() == '\'');
  return quoted ? text.substr(1, text.size() - 2) : text;
}

}  // namespace maglio::app

// What somebody who mistyped a name may have meant.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace maglio::app {

// The name that the fewest changes of a letter (put in, left out, replaced, two exchanged) lead to;
// nothing when that takes more than a third of its letters. A longer name that begins with the word
// is one change away.
std::optional<std::string_view> nearest_name(std::string_view word,
                                             std::span<const std::string_view> names);

}  // namespace maglio::app

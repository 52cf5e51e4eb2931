// Text of unknown origin on its way to a terminal.
//
// A terminal obeys control characters: they move the cursor, rename the window, even type. What a
// model or a file says must only be read. Line feeds and tabs pass; a carriage return is dropped,
// for it would let text overwrite what stands before it; other controls of ASCII are shown as
// editors show them (^[ for escape), those of Latin-1 (U+0080 to U+009F), which terminals obey as
// well, as U+FFFD.
#pragma once

#include <string>
#include <string_view>

namespace maglio::app {

// Requires nothing of the text; characters must not be cut between two calls.
std::string harmless(std::string_view text);

}  // namespace maglio::app

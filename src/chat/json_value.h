// JSON text to the values of a template.
#pragma once

#include <string_view>

#include "chat/jinja/value.h"

namespace maglio::chat {

// Every string, key and number has the origin `said`: JSON comes from outside. Numbers are what
// Python's json makes of them: 1 an int, 1.0 and 1e3 floats, each read exactly.
// Throws: Error bad_request "BadJson", naming line and byte where the text stops being JSON; what
// nests deeper than 128 levels is refused, too.
jinja::Value parse_json(std::string_view text);

}  // namespace maglio::chat

// Jinja's filters: value|name(arguments).
#pragma once

#include <string_view>

#include "chat/jinja/meter.h"
#include "chat/jinja/value.h"

namespace maglio::jinja {

using Filter = Value (*)(Meter&, const Value&, const Arguments&);

// Null where there is no filter of that name.
Filter find_filter(std::string_view name);

}  // namespace maglio::jinja

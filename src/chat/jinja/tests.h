// Jinja's tests: value is name(arguments).
#pragma once

#include <string_view>

#include "chat/jinja/meter.h"
#include "chat/jinja/value.h"

namespace maglio::jinja {

using Test = bool (*)(Meter&, const Value&, const Arguments&);

// Null where there is no test of that name.
Test find_test(std::string_view name);

}  // namespace maglio::jinja

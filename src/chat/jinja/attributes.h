// value.name and value[key], as Jinja looks things up: what is not there is undefined.
#pragma once

#include <optional>
#include <string_view>

#include "chat/jinja/meter.h"
#include "chat/jinja/value.h"

namespace maglio::jinja {

// Methods come before keys: d.items is the method, whatever d holds.
// Throws, as do the others: Error bad_request "TemplateError" for anything of an undefined value.
Value attribute(Meter& meter, const Value& object, std::string_view name);
// Keys come before methods.
Value item(Meter& meter, const Value& object, const Value& key);
// object[start:stop:step], None where a bound is left out.
Value slice_of(
    Meter& meter, const Value& object, const Value& start, const Value& stop, const Value& step);

// A method of a string, a list or a dict, bound to it (methods.cpp). Nothing where Python has none,
// and an undefined value for one that the sandbox keeps away (list.append).
std::optional<Value> method(const Value& object, std::string_view name);

// len(). Throws as above.
size_t length(Meter& meter, const Value& value);

}  // namespace maglio::jinja

// Python's operators on values.
#pragma once

#include <vector>

#include "chat/jinja/ast.h"
#include "chat/jinja/meter.h"
#include "chat/jinja/value.h"

namespace maglio::jinja {

// Requires: an arithmetic operator. Throws, as do the others: Error bad_request "TemplateError" for
// types that do not go together.
Value arithmetic(Meter& meter, Binary::Op op, const Value& a, const Value& b);
Value negative(Meter& meter, const Value& a);
bool compare(Meter& meter, Comparison::Op op, const Value& a, const Value& b);
bool less(Meter& meter, const Value& a, const Value& b);
bool contains(Meter& meter, const Value& container, const Value& item);

// What a loop over the value goes through: items, keys, characters. A generator is used up by it.
std::vector<Value> iterate(Meter& meter, const Value& value);

}  // namespace maglio::jinja

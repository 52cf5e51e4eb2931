// The functions that every chat template may call: range, dict, namespace, joiner, raise_exception
// and strftime_now.
#pragma once

#include <deque>
#include <string>
#include <unordered_map>

#include "chat/jinja/value.h"

namespace maglio::jinja {

// Namespaces that templates make go into `spaces`, which must outlive the values.
std::unordered_map<std::string, Value> globals(std::deque<Namespace>& spaces);

}  // namespace maglio::jinja

// Values as text: Python's str(), repr() and json.dumps().
#pragma once

#include <optional>

#include "chat/jinja/meter.h"
#include "chat/jinja/value.h"

namespace maglio::jinja {

// What {{ value }} prints: nothing for an undefined value.
Text to_text(Meter& meter, const Value& value);
Text to_repr(Meter& meter, const Value& value);

struct JsonStyle {
  bool ascii_only = false;
  bool sort_keys = false;
  std::optional<Text> indent = {};  // of one level; without it all is on one line
  Text between_items = {", ", Origin::trusted}, after_key = {": ", Origin::trusted};
};
// Throws: Error bad_request "TemplateError" for what JSON cannot say (an undefined value, ...).
Text to_json(Meter& meter, const Value& value, const JsonStyle& style);

}  // namespace maglio::jinja

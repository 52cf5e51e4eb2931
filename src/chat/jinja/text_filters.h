// Filters that make text or numbers of one value.
#pragma once

#include "chat/jinja/meter.h"
#include "chat/jinja/value.h"

namespace maglio::jinja {

Value upper_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value lower_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value title_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value capitalize_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value trim_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value replace_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value indent_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value center_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value wordcount_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value string_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value safe_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value escape_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value urlencode_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value format_filter(Meter& meter, const Value& value, const Arguments& arguments);
// Python's json.dumps as transformers sets it up: no HTML escapes, ensure_ascii off.
Value tojson_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value int_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value float_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value abs_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value round_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value default_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value length_filter(Meter& meter, const Value& value, const Arguments& arguments);

}  // namespace maglio::jinja

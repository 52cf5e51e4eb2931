// Python's two ways to fill a text: "%s is %d" % (a, b) and "{} is {name}".format(a, name=b).
#pragma once

#include "chat/jinja/meter.h"
#include "chat/jinja/value.h"

namespace maglio::jinja {

// Throws, as does the other: Error bad_request "TemplateError" for values that do not fit.
Text percent_format(Meter& meter, const Text& pattern, const Value& values);
Text brace_format(Meter& meter, const Text& pattern, const Arguments& values);

}  // namespace maglio::jinja

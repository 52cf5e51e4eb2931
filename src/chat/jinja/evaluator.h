// Runs a template: variables in, text out.
#pragma once

#include <ctime>

#include "chat/jinja/ast.h"
#include "chat/jinja/meter.h"

namespace maglio::jinja {

// `variables`: names to values. `now` is what strftime_now tells.
// Throws: Error bad_request "TemplateError" for what Python would raise, "TemplateRefused" for what
// the template raises itself, bad_file "TemplateLimit" for a template that takes too much; each
// with line and column.
Text render(const Program& program,
            const Dict& variables,
            std::time_t now,
            const Limits& limits = {});

}  // namespace maglio::jinja

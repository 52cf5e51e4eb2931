// From a template's source to its program.
#pragma once

#include <string_view>

#include "chat/jinja/ast.h"

namespace maglio::jinja {

// Throws: Error bad_file "TemplateSyntax" with line and column, "TemplateLimit" for one that nests
// too deep or is too long.
Program parse(std::string_view source);

}  // namespace maglio::jinja

// From a template's source to its tokens.
//
// Outside of tags everything is text. White space around a tag follows the settings that chat
// templates are written for (Jinja 3.1 with trim_blocks and lstrip_blocks, as transformers sets
// them): a line feed behind a block tag goes, and so do the blanks in front of one at the start of
// a line; "-" takes all white space on its side, "+" leaves it alone. One line feed at the very end
// goes, and every line end becomes "\n".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "chat/jinja/meter.h"

namespace maglio::jinja {

struct Token {
  enum class Kind : uint8_t {
    data,        // text outside of tags
    open_print,  // {{
    close_print,
    open_block,  // {%
    close_block,
    name,
    string,  // its value, escapes resolved
    integer,
    real,
    symbol,  // an operator or a bracket
    end,
  };
  Kind kind;
  std::string text;
  Position at;
};

inline constexpr size_t kMaxSourceBytes = 1u << 20;

// The last token is the end. Throws: Error bad_file "TemplateSyntax", with line and column.
std::vector<Token> lex(std::string_view source);

// Throws: Error bad_file "TemplateSyntax".
[[noreturn]] void syntax_error(Position at, std::string_view message);

}  // namespace maglio::jinja

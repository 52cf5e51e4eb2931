// The classes of Unicode that the pre-tokenizers split by: \p{L}, \p{N}, \p{P}, \p{M} and the
// White_Space property (\s). Unicode 15.1.0, as llama.cpp; tools/gen_unicode_tables.py writes the
// table.
#pragma once

#include <cstdint>

namespace maglio {

// A set of bits; 0 for everything else (symbols, controls, unassigned code points).
enum CharClass : uint8_t {
  kLetter = 1,
  kNumber = 2,
  kWhiteSpace = 4,
  kPunctuation = 8,
  kMark = 16,
};

// The bits of a code point; 0 above U+10FFFF.
uint8_t char_class(char32_t code_point);

}  // namespace maglio

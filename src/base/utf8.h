// UTF-8, strictly: no overlong forms, no surrogates, nothing above U+10FFFF (RFC 3629, §3).
//
// A broken byte sequence is cut the way the Unicode standard recommends (§3.9, "maximal subparts"):
// the longest start of a valid sequence is one fault, so a reader shows one U+FFFD for it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace maglio {

inline constexpr char32_t kReplacement = 0xFFFD;

enum class Utf8State {
  whole,       // a scalar value
  broken,      // the start of a sequence, then something that cannot follow it
  unfinished,  // the text ends inside a sequence that was right so far
};

struct Utf8Step {
  char32_t code_point = kReplacement;  // U+FFFD unless whole
  size_t size = 0;                     // [bytes], at least 1
  Utf8State state = Utf8State::broken;
};

// What stands at byte `at` of the text. Requires: at < text.size().
Utf8Step next_utf8(std::string_view text, size_t at);

// Appends a scalar value. Requires: code_point <= U+10FFFF.
void append_utf8(std::string& text, char32_t code_point);

bool is_valid_utf8(std::string_view text);

// Bytes that can be shown now: everything but an unfinished sequence at the end.
size_t complete_utf8_size(std::string_view text);

// The text with one U+FFFD for every fault, the unfinished end included.
std::string replace_broken_utf8(std::string_view text);

}  // namespace maglio

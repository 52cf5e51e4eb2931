// GPT-2's byte trick: every byte has a printable stand-in, so a vocabulary of printable strings can
// spell any input.
//
// The 188 bytes that print by themselves ('!'..'~', U+00A1..U+00AC, U+00AE..U+00FF) stand for
// themselves; the other 68 become U+0100, U+0101, ... in ascending order. A space is therefore
// U+0120 (Ġ) and a line feed U+010A (Ċ). Source: bytes_to_unicode() in GPT-2's encoder.py.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace maglio {

char32_t byte_to_char(uint8_t byte);

std::optional<uint8_t> char_to_byte(char32_t code_point);

// "hi\n" -> "hiĊ": bytes to the spelling that a vocabulary uses.
std::string spell_bytes(std::string_view bytes);

// The way back. A character outside the alphabet stands for its own UTF-8 bytes.
std::string unspell_bytes(std::string_view spelling);

}  // namespace maglio

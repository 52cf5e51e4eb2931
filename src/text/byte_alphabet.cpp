#include "text/byte_alphabet.h"

#include <array>

#include "base/utf8.h"

namespace maglio {
namespace {

constexpr char32_t kFirstStandIn = 0x100;
constexpr unsigned kStandIns = 68;

constexpr bool prints_by_itself(unsigned byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<char32_t, 256> char_of{};
  std::array<uint8_t, kStandIns> byte_of{};  // of U+0100 + i
};

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  unsigned n = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (prints_by_itself(byte)) {
      alphabet.char_of[byte] = byte;
    } else {
      alphabet.char_of[byte] = kFirstStandIn + n;
      alphabet.byte_of[n++] = static_cast<uint8_t>(byte);
    }
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

char32_t byte_to_char(uint8_t byte) {
  return kAlphabet.char_of[byte];
}

std::optional<uint8_t> char_to_byte(char32_t code_point) {
  if (code_point < 0x100) {
    if (!prints_by_itself(code_point)) return std::nullopt;
    return static_cast<uint8_t>(code_point);
  }
  if (code_point >= kFirstStandIn + kStandIns) return std::nullopt;
  return kAlphabet.byte_of[code_point - kFirstStandIn];
}

std::string spell_bytes(std::string_view bytes) {
  std::string spelling;
  for (char byte : bytes) append_utf8(spelling, byte_to_char(static_cast<uint8_t>(byte)));
  return spelling;
}

std::string unspell_bytes(std::string_view spelling) {
  std::string bytes;
  for (size_t at = 0; at < spelling.size();) {
    const Utf8Step step = next_utf8(spelling, at);
    const auto byte = step.state == Utf8State::whole ? char_to_byte(step.code_point) : std::nullopt;
    if (byte) {
      bytes.push_back(static_cast<char>(*byte));
    } else {
      bytes.append(spelling.substr(at, step.size));
    }
    at += step.size;
  }
  return bytes;
}

}  // namespace maglio

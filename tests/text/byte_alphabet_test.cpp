#include "text/byte_alphabet.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace maglio {
namespace {

TEST(ByteAlphabet, All256BytesRoundTrip) {
  std::set<char32_t> chars;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char32_t c = byte_to_char(static_cast<uint8_t>(byte));
    chars.insert(c);
    EXPECT_GT(c, 0x20u) << "a stand-in prints";
    ASSERT_EQ(char_to_byte(c), static_cast<uint8_t>(byte));
  }
  EXPECT_EQ(chars.size(), 256u);
}

TEST(ByteAlphabet, NoOtherCharacterStandsForAByte) {
  unsigned n = 0;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) n += char_to_byte(c).has_value();
  EXPECT_EQ(n, 256u);
}

TEST(ByteAlphabet, WellKnownStandIns) {
  EXPECT_EQ(spell_bytes(" a\n\t"), "ĠaĊĉ");
  EXPECT_EQ(spell_bytes("\xC3\xA9"), "Ã©") << "é";
  EXPECT_EQ(spell_bytes("\x7F\xA0\xAD\xFF"), "ġłŃÿ");
}

TEST(ByteAlphabet, BytesOfAnySpellingComeBack) {
  std::string bytes;
  for (unsigned byte = 0; byte < 256; ++byte) bytes.push_back(static_cast<char>(byte));
  EXPECT_EQ(unspell_bytes(spell_bytes(bytes)), bytes);
  EXPECT_EQ(unspell_bytes("Ġ▁x"), " ▁x") << "a character outside the alphabet is kept";
}

}  // namespace
}  // namespace maglio

#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace maglio {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

// The bit layout of RFC 3629 §3, written down independently of the reader.
std::string utf8_by_hand(char32_t c) {
  const auto byte = [](char32_t value) { return static_cast<char>(value); };
  if (c < 0x80) return {byte(c)};
  if (c < 0x800) return {byte(0xC0 + c / 64), byte(0x80 + c % 64)};
  if (c < 0x10000) return {byte(0xE0 + c / 4096), byte(0x80 + c / 64 % 64), byte(0x80 + c % 64)};
  return {byte(0xF0 + c / 262144), byte(0x80 + c / 4096 % 64), byte(0x80 + c / 64 % 64),
          byte(0x80 + c % 64)};
}

TEST(Utf8, EveryScalarValueRoundTrips) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    append_utf8(text, c);
    ASSERT_EQ(text, utf8_by_hand(c));
    const Utf8Step step = next_utf8(text, 0);
    ASSERT_EQ(step.state, Utf8State::whole);
    ASSERT_EQ(step.code_point, c);
    ASSERT_EQ(step.size, text.size());
  }
}

TEST(Utf8, SurrogatesAreBrokenByteByByte) {
  for (char32_t c = 0xD800; c <= 0xDFFF; ++c) {
    const Utf8Step step = next_utf8(utf8_by_hand(c), 0);
    ASSERT_EQ(step.state, Utf8State::broken);
    ASSERT_EQ(step.size, 1u);
  }
}

TEST(Utf8, OverlongFormsAndValuesAboveTheRangeAreBroken) {
  for (std::string_view text : {"\xC0\x80"sv, "\xC1\xBF"sv, "\xE0\x9F\xBF"sv, "\xF0\x8F\xBF\xBF"sv,
                                "\xF4\x90\x80\x80"sv, "\xF5\x80\x80\x80"sv, "\xFF"sv, "\x80"sv}) {
    const Utf8Step step = next_utf8(text, 0);
    EXPECT_EQ(step.state, Utf8State::broken);
    EXPECT_EQ(step.size, 1u);
    EXPECT_FALSE(is_valid_utf8(text));
  }
}

TEST(Utf8, AMaximalSubpartIsOneFault) {
  // Unicode 15, table 3-8 (U+FFFD for ill-formed sequences).
  EXPECT_EQ(replace_broken_utf8("a\xF1\x80\x80\xE1\x80\xC2"
                                "b\x80"
                                "c\x80\xBF"
                                "d"),
            "a���b�c��d");
  // Tables 3-9 and 3-10: surrogates and overlong forms, one for each byte.
  EXPECT_EQ(replace_broken_utf8("\xED\xA0\x80\xC0\xAF"), "�����");
  // Table 3-11: truncated sequences.
  EXPECT_EQ(replace_broken_utf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF"
                                "A"),
            "����A");
}

TEST(Utf8, OnlyAnUnfinishedEndIsHeldBack) {
  EXPECT_EQ(complete_utf8_size(""), 0u);
  EXPECT_EQ(complete_utf8_size("abc"), 3u);
  EXPECT_EQ(complete_utf8_size("a\xE6"), 1u);
  EXPECT_EQ(complete_utf8_size("a\xE6\xAD"), 1u);
  EXPECT_EQ(complete_utf8_size("a\xE6\xAD\xAA"), 4u);
  EXPECT_EQ(complete_utf8_size("\xF0\x9F\x91"), 0u);
  EXPECT_EQ(complete_utf8_size("\xF0\x9F\x91\xA8"), 4u);
  EXPECT_EQ(complete_utf8_size("ab\xFF"), 3u) << "nothing can complete it";
  EXPECT_EQ(complete_utf8_size("\xE6\x41"), 2u);
  EXPECT_EQ(complete_utf8_size("\x80\x80\x80\x80"), 4u);
}

}  // namespace
}  // namespace maglio

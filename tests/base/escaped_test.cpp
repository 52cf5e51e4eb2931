#include "base/escaped.h"

#include <gtest/gtest.h>

#include <string_view>

namespace maglio {
namespace {

using namespace std::literals;

TEST(Escaped, KeepsWhatCanBeShown) {
  EXPECT_EQ(escaped("blk.0.attn_q.weight"), "blk.0.attn_q.weight");
  EXPECT_EQ(escaped("Schlüssel 钥匙 🔑"), "Schlüssel 钥匙 🔑");
}

TEST(Escaped, TurnsControlsQuotesAndBrokenBytesIntoEscapes) {
  EXPECT_EQ(escaped("a\0'\\\n\t\x1b[31m\x7f"sv), R"(a\x00\'\\\n\x09\x1b[31m\x7f)");
  EXPECT_EQ(escaped("\xff\xc3("), R"(\xff\xc3()");
  EXPECT_EQ(escaped("\xc3"), R"(\xc3)");
  EXPECT_EQ(escaped("\xc2\x9b"), R"(\xc2\x9b)");  // C1: CSI
}

TEST(Escaped, ShowsMarksThatTurnTheDirectionOfWriting) {
  EXPECT_EQ(escaped("a\u202eb\u2066\u200b\ufeff"),
            R"(a\xe2\x80\xaeb\xe2\x81\xa6\xe2\x80\x8b\xef\xbb\xbf)");
  EXPECT_EQ(escaped("a\u2028b"), R"(a\xe2\x80\xa8b)");
}

TEST(Escaped, CutsLongTextAtACharacter) {
  EXPECT_EQ(escaped("12345", 5), "12345");
  EXPECT_EQ(escaped("123456", 5), "12345… (6 bytes)");
  EXPECT_EQ(escaped("1234ü", 5), "1234… (6 bytes)");
  EXPECT_EQ(escaped("", 0), "");
}

}  // namespace
}  // namespace maglio

#include "maglio/byte_size.h"

#include <gtest/gtest.h>

namespace maglio::app {
namespace {

TEST(ByteSize, IsANumberAndAUnitInPowersOf1024) {
  EXPECT_EQ(parse_byte_size("0"), 0u);
  EXPECT_EQ(parse_byte_size("1024"), 1024u);
  EXPECT_EQ(parse_byte_size("7B"), 7u);
  for (const char* text : {"3K", "3k", "3KB", "3kb", "3KiB"}) {
    EXPECT_EQ(parse_byte_size(text), 3072u) << text;
  }
  EXPECT_EQ(parse_byte_size("800MB"), uint64_t{800} << 20);
  EXPECT_EQ(parse_byte_size("6G"), uint64_t{6} << 30);
  EXPECT_EQ(parse_byte_size("2TiB"), uint64_t{2} << 40);
  EXPECT_EQ(parse_byte_size("9223372036854775807"), uint64_t{INT64_MAX});
}

TEST(ByteSize, NothingElseIsOne) {
  for (const char* text :
       {"", "-1", "+1", "much", "B", "4XB", "4BB", "4GBs", "4 GB", " 4", "1.5G", "1e9",
        "9223372036854775808", "99999999999999999999", "9000000T", "0x10"}) {
    EXPECT_EQ(parse_byte_size(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace maglio::app

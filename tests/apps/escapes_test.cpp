#include "maglio/escapes.h"

#include <gtest/gtest.h>

namespace maglio::app {
namespace {

TEST(Escapes, AreReadAsTheCharactersTheyName) {
  EXPECT_EQ(with_escapes_read(R"(a\nb\tc\r\\\'\"\x41)"), "a\nb\tc\r\\'\"A");
  EXPECT_EQ(with_escapes_read(R"(\xe6\x97\xa5)"), "日");
}

TEST(Escapes, WhatIsNoneStays) {
  EXPECT_EQ(with_escapes_read(R"(C:\dir \q \x4 \xzz \)"), R"(C:\dir \q \x4 \xzz \)");
  EXPECT_EQ(with_escapes_read(""), "");
}

}  // namespace
}  // namespace maglio::app

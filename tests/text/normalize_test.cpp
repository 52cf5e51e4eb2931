#include "text/normalize.h"

#include <gtest/gtest.h>

namespace maglio {
namespace {

TEST(Normalize, ComposesLettersMarksAndHangul) {
  EXPECT_EQ(to_nfc("e\u0301"), "\u00E9");
  EXPECT_EQ(to_nfc("NAI\u0308VE"), "NA\u00CFVE");
  EXPECT_EQ(to_nfc("\u1112\u1161\u11AB"), "\uD55C");
  EXPECT_EQ(to_nfc("\u212B"), "\u00C5") << "a singleton";
}

TEST(Normalize, OrdersMarksByTheirClass) {
  EXPECT_EQ(to_nfc("a\u0301\u0323"), "\u1EA1\u0301");
  EXPECT_EQ(to_nfc("q\u0307\u0323"), "q\u0323\u0307");
}

TEST(Normalize, LeavesCompositionExclusionsDecomposed) {
  EXPECT_EQ(to_nfc("\u0958"), "\u0915\u093C");
}

TEST(Normalize, LeavesNormalTextAlone) {
  EXPECT_EQ(to_nfc(""), "");
  EXPECT_EQ(to_nfc("plain ASCII\r\n\t"), "plain ASCII\r\n\t");
  EXPECT_EQ(to_nfc(std::string_view("a\0b", 3)), std::string_view("a\0b", 3));
  EXPECT_EQ(to_nfc("\uFB01 \u2460"), "\uFB01 \u2460") << "compatibility is not composition";
}

TEST(Normalize, KeepsBytesThatAreNoUtf8) {
  EXPECT_EQ(to_nfc("e\u0301\xFF"
                   "e\u0301\xE6\xAD"),
            "\u00E9\xFF\u00E9\xE6\xAD");
  EXPECT_EQ(to_nfc("e\xFF\u0301"), "e\xFF\u0301") << "nothing composes across them";
}

}  // namespace
}  // namespace maglio

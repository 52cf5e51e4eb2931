#include "maglio/repl/cells.h"

#include <gtest/gtest.h>
#include <wchar.h>

#include <clocale>

#include "base/utf8.h"

namespace maglio::app {
namespace {

class CellsTest : public testing::Test {
 protected:
  CellsTest() { std::setlocale(LC_CTYPE, "C.UTF-8"); }

  std::string back(const std::wstring& cells) {
    std::string stored;
    for (wchar_t c : cells) append_utf8(stored, static_cast<char32_t>(c));
    return cells_.to_text(stored);
  }
  int width(const std::wstring& cells) { return ::wcswidth(cells.c_str(), cells.size()); }

  Cells cells_;
};

TEST_F(CellsTest, ALetterAndItsMarksAreOneCellOfItsWidth) {
  const std::wstring accent = cells_.from_text("e\u0301x");
  EXPECT_EQ(accent.size(), 2u);
  EXPECT_EQ(width(accent), 2);
  const std::wstring wide = cells_.from_text("か\u3099");  // ga, in two characters
  EXPECT_EQ(wide.size(), 1u);
  EXPECT_EQ(width(wide), 2);
}

TEST_F(CellsTest, TextComesBackAsItWas) {
  for (const char* text : {"plain", "e\u0301 か\u3099", "สวัสดี", "שָׁלוֹם", "👩\u200d👧",
                           "日本語\nzwei\t!", "\u0301 first", "\U00100000 \U00030000"}) {
    EXPECT_EQ(back(cells_.from_text(text)), text);
  }
}

TEST_F(CellsTest, AMarkThatComesLaterJoinsTheCellBefore) {
  const std::wstring cells = cells_.from_text("e");
  const wchar_t once = cells_.join(cells[0], L'\u0301');
  const wchar_t twice = cells_.join(once, L'\u0323');
  EXPECT_EQ(back({once}), "e\u0301");
  EXPECT_EQ(back({twice}), "e\u0301\u0323");
  EXPECT_EQ(cells_.from_text("e\u0301")[0], once) << "the same letter, the same cell";
}

TEST_F(CellsTest, KnowsMarks) {
  EXPECT_TRUE(Cells::is_mark(L'\u0301'));
  EXPECT_TRUE(Cells::is_mark(L'\u200d'));
  EXPECT_FALSE(Cells::is_mark(L'e'));
  EXPECT_FALSE(Cells::is_mark(L'\n'));
  EXPECT_FALSE(Cells::is_mark(L'日'));
}

TEST_F(CellsTest, BrokenBytesAreReplaced) {
  EXPECT_EQ(back(cells_.from_text("a\xffz")), "a\uFFFDz");
}

}  // namespace
}  // namespace maglio::app

// Text as libedit can edit it: one wide character for what a terminal shows as one.
//
// libedit takes a character for as wide as libc says, but a mark that stands on the letter before
// it (an accent, a vowel sign, a joiner) has no width of its own, and libedit loses it at the next
// redraw. So a letter and its marks go to libedit as one stand-in of the letter's width, from a
// part of Unicode that nobody types, and come back as what they are: on the screen, in the history,
// and in the message. The cursor then moves, and deletes, whole letters.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace maglio::app {

// Requires, as libedit does: a UTF-8 locale for LC_CTYPE. Not thread-safe.
class Cells {
 public:
  // Broken UTF-8 becomes U+FFFD.
  std::wstring from_text(std::string_view text);
  // The text of cells in UTF-8, as libedit hands them out.
  std::string to_text(std::string_view cells) const;

  // Does this character stand on the one before it?
  static bool is_mark(wchar_t character);
  // The cell before, with one more mark.
  wchar_t join(wchar_t cell, wchar_t mark);

 private:
  wchar_t stand_in(const std::u32string& cluster);
  std::u32string cluster_of(wchar_t cell) const;

  struct Range {
    char32_t first, last;
    std::vector<std::u32string> clusters;  // clusters[i] has the stand-in first + i
    bool holds(char32_t c) const { return c >= first && c <= last; }
  };
  Range narrow_{0x100000, 0x10FFFD, {}};  // private use, plane 16
  Range wide_{0x30000, 0x3134A, {}};      // CJK extension G: rare characters, two columns each
  std::map<std::u32string, wchar_t> known_;
};

}  // namespace maglio::app

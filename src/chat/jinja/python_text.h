// What Python's str can do, on texts that remember their origin.
//
// Positions and counts are those of code points, as in Python; a byte that is no UTF-8 counts as
// one. What a function puts in by itself (a pad, an escape) has the origin of what it stands for.
#pragma once

#include <optional>
#include <vector>

#include "chat/jinja/meter.h"
#include "chat/jinja/text.h"

namespace maglio::jinja {

// str.isspace for one character: more than Unicode's White_Space.
bool is_space(char32_t c);

enum class Sides : uint8_t { left = 1, right = 2, both = 3 };
// Without `chars`, white space.
Text strip(const Text& text, Sides sides, const Text* chars = nullptr);

// The first place of a part from a byte on, in a time that grows with the sum of the two sizes; and
// the last one, which costs steps where the part is long. npos: there is none.
size_t find_first(std::string_view text, std::string_view part, size_t from = 0);
size_t find_last(Meter& meter,
                 std::string_view text,
                 std::string_view part,
                 size_t from = std::string_view::npos);

size_t count_characters(std::string_view text);
std::vector<Text> characters(const Text& text);
// text[start:stop:step]. Requires: step != 0.
Text slice(const Text& text,
           std::optional<int64_t> start,
           std::optional<int64_t> stop,
           int64_t step);
// What a slice of n things picks: `count` of them, the first at `first`, each `step` behind the one
// before. first is one of the n where count is not 0.
struct Picked {
  int64_t first = 0;
  size_t count = 0;
  int64_t step = 1;

  size_t at(size_t i) const { return static_cast<size_t>(first + static_cast<int64_t>(i) * step); }
};
// Requires: step != 0.
Picked pick(size_t n, std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step);

enum class Case : uint8_t { upper, lower, title, capitalized };
Text change_case(const Text& text, Case to);
// str.isupper and str.islower. Requires: one of the first two cases.
bool is_in_case(std::string_view text, Case to);

// At most `most` cuts; all of them without. Without a separator, at runs of white space.
// Requires: a separator is not empty.
std::vector<Text> split(Meter& meter,
                        const Text& text,
                        const Text* separator,
                        std::optional<size_t> most,
                        Sides from = Sides::left);
std::vector<Text> split_lines(Meter& meter, const Text& text, bool keep_ends = false);
Text join(Meter& meter, const std::vector<Text>& parts, const Text& between);
Text replace(
    Meter& meter, const Text& text, const Text& old, const Text& by, std::optional<size_t> most);
Text repeat(Meter& meter, const Text& text, int64_t n);
// Python's Markup.escape.
Text escape_html(const Text& text);
// a + b, as Python adds: a text that is markup escapes the other one.
Text add(Meter& meter, const Text& a, const Text& b);

// Of a code point in bytes, and back.
size_t character_of_byte(std::string_view text, size_t byte);

}  // namespace maglio::jinja

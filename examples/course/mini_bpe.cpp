// Exercise 2 of the chapter, at the terminal: course_mini_bpe [TEXT] (default "hi hi").
#include "mini_bpe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

int main(int argc, char** argv) {
  const std::string_view text = argc > 1 ? argv[1] : "hi hi";
  const course::MiniBpe bpe{{"h", "i", "Ġ", "hi", "Ġhi"}, {{"h", "i"}, {"Ġ", "hi"}}};
  try {
    fmt::print("'{}' -> {}\n", text, bpe.encode_bytes(text));
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr, "course_mini_bpe: {}\n", error.what());
    return 1;
  }
  return 0;
}

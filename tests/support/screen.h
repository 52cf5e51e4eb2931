// What a terminal would show: the bytes that a program writes, drawn onto lines of cells.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace maglio::test {

// Knows what line editors write: cursor movements, erasing, inserting and deleting of cells
// (ECMA-48) and characters of width 0, 1 and 2 (the C library's, so a UTF-8 locale is required).
// Colours and modes are ignored. Lines scroll off at the top and are forgotten.
class Screen {
 public:
  Screen(size_t n_columns, size_t n_rows) : n_columns_(n_columns), rows_(n_rows) {}

  void write(std::string_view bytes);

  // A row from the top, without the blanks at its end.
  std::string row(size_t i) const;
  std::string cursor_row() const { return row(y_); }
  size_t cursor_column() const { return x_; }
  std::string text() const;  // all rows

 private:
  using Row = std::vector<std::string>;  // a cell each; the second of a wide character is empty

  void put(char32_t c);
  void control(char c);
  void sequence(std::string_view parameters, char command);
  void line_feed();
  Row& here();

  size_t n_columns_;
  std::vector<Row> rows_;
  size_t x_ = 0, y_ = 0;
  std::string pending_;  // an unfinished character or sequence
};

}  // namespace maglio::test

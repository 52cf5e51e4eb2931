#include "support/screen.h"

#include <wchar.h>

#include <algorithm>
#include <charconv>
#include <clocale>
#include <cstdlib>

#include "base/utf8.h"

namespace maglio::test {
namespace {

size_t number(std::string_view parameters, size_t otherwise) {
  size_t n = otherwise;
  std::from_chars(parameters.data(), parameters.data() + parameters.size(), n);
  return n;
}

// The size of the sequence that begins with ESC; 0 while it is unfinished.
size_t sequence_size(std::string_view text) {
  if (text.size() < 2) return 0;
  if (text[1] != '[') return 2;
  const auto end = std::find_if(text.begin() + 2, text.end(), [](char c) { return c >= '@'; });
  return end == text.end() ? 0 : static_cast<size_t>(end - text.begin()) + 1;
}

}  // namespace

void Screen::write(std::string_view bytes) {
  std::setlocale(LC_CTYPE, "C.UTF-8");
  pending_ += bytes;
  size_t at = 0;
  while (at < pending_.size()) {
    const std::string_view rest = std::string_view(pending_).substr(at);
    if (rest[0] == '\x1b') {
      const size_t size = sequence_size(rest);
      if (size == 0) break;
      if (size > 2) sequence(rest.substr(2, size - 3), rest[size - 1]);
      at += size;
      continue;
    }
    const Utf8Step step = next_utf8(rest, 0);
    if (step.state == Utf8State::unfinished) break;
    if (step.code_point < 0x20) {
      control(rest[0]);
    } else {
      put(step.code_point);
    }
    at += step.size;
  }
  pending_.erase(0, at);
}

std::string Screen::row(size_t i) const {
  std::string text;
  for (const std::string& cell : rows_.at(i)) text += cell;
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string Screen::text() const {
  std::string text;
  for (size_t i = 0; i < rows_.size(); ++i) text += row(i) + '\n';
  return text;
}

Screen::Row& Screen::here() {
  Row& row = rows_[y_];
  if (row.size() <= x_) row.resize(x_ + 1, " ");
  return row;
}

void Screen::put(char32_t c) {
  std::string character;
  append_utf8(character, c);
  const int width = ::wcwidth(static_cast<wchar_t>(c));
  if (width == 0 && x_ > 0) {  // stands on the character before
    Row& row = here();
    size_t before = x_ - 1;
    while (before > 0 && row[before].empty()) --before;
    row[before] += character;
    return;
  }
  const auto n_cells = static_cast<size_t>(std::max(1, width));
  if (x_ + n_cells > n_columns_) {
    x_ = 0;
    line_feed();
  }
  for (size_t i = 0; i < n_cells; ++i, ++x_) here()[x_] = i == 0 ? character : "";
}

void Screen::line_feed() {
  if (++y_ < rows_.size()) return;
  rows_.erase(rows_.begin());
  rows_.emplace_back();
  y_ = rows_.size() - 1;
}

void Screen::control(char c) {
  if (c == '\r') x_ = 0;
  if (c == '\n') line_feed();
  if (c == '\b' && x_ > 0) --x_;
  if (c == '\t') x_ = std::min(n_columns_ - 1, (x_ / 8 + 1) * 8);
}

void Screen::sequence(std::string_view parameters, char command) {
  const size_t n = number(parameters, 1);
  Row& row = here();
  const auto at = row.begin() + static_cast<std::ptrdiff_t>(x_);
  switch (command) {
    case 'A':
      y_ -= std::min(y_, n);
      break;
    case 'B':
      y_ = std::min(y_ + n, rows_.size() - 1);
      break;
    case 'C':
      x_ = std::min(x_ + n, n_columns_ - 1);
      break;
    case 'D':
      x_ -= std::min(x_, n);
      break;
    case 'G':
      x_ = std::min(n, n_columns_) - 1;
      break;
    case 'H':
      y_ = std::min(n, rows_.size()) - 1;
      x_ = 0;
      break;
    case 'K':
      row.erase(at, row.end());
      break;
    case 'J':
      if (parameters == "2") {
        for (Row& each : rows_) each.clear();
      } else {
        row.erase(at, row.end());
        for (size_t i = y_ + 1; i < rows_.size(); ++i) rows_[i].clear();
      }
      break;
    case 'P':
      row.erase(at, at + static_cast<std::ptrdiff_t>(std::min(n, row.size() - x_)));
      break;
    case '@':
      row.insert(at, n, " ");
      break;
    default:
      break;
  }
}

}  // namespace maglio::test

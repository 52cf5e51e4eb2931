#include "maglio/repl/cells.h"

#include <wchar.h>

#include "base/utf8.h"

namespace maglio::app {

std::wstring Cells::from_text(std::string_view text) {
  std::wstring cells;
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = next_utf8(text, at);
    at += step.size;
    const auto c = static_cast<wchar_t>(step.code_point);
    if (is_mark(c) && !cells.empty() && ::wcwidth(cells.back()) > 0) {
      cells.back() = join(cells.back(), c);
    } else if (narrow_.holds(step.code_point) || wide_.holds(step.code_point)) {
      cells += stand_in({step.code_point});  // one that somebody does type
    } else {
      cells += c;
    }
  }
  return cells;
}

std::string Cells::to_text(std::string_view cells) const {
  std::string text;
  for (size_t at = 0; at < cells.size();) {
    const Utf8Step step = next_utf8(cells, at);
    at += step.size;
    for (char32_t c : cluster_of(static_cast<wchar_t>(step.code_point))) append_utf8(text, c);
  }
  return text;
}

bool Cells::is_mark(wchar_t character) {
  return character > 0x7f && ::wcwidth(character) == 0;
}

wchar_t Cells::join(wchar_t cell, wchar_t mark) {
  return stand_in(cluster_of(cell) + static_cast<char32_t>(mark));
}

// When all are taken, the letter stands without its marks.
wchar_t Cells::stand_in(const std::u32string& cluster) {
  if (const auto known = known_.find(cluster); known != known_.end()) return known->second;
  const auto letter = static_cast<wchar_t>(cluster.front());
  Range& range = ::wcwidth(letter) == 2 ? wide_ : narrow_;
  if (range.clusters.size() > range.last - range.first) return letter;
  const auto cell = static_cast<wchar_t>(range.first + range.clusters.size());
  range.clusters.push_back(cluster);
  known_.emplace(cluster, cell);
  return cell;
}

std::u32string Cells::cluster_of(wchar_t cell) const {
  const auto c = static_cast<char32_t>(cell);
  for (const Range* range : {&narrow_, &wide_}) {
    if (range->holds(c) && c - range->first < range->clusters.size()) {
      return range->clusters[c - range->first];
    }
  }
  return {c};
}

}  // namespace maglio::app

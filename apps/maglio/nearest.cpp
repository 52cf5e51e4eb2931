#include "maglio/nearest.h"

#include <algorithm>
#include <vector>

namespace maglio::app {
namespace {

// Optimal string alignment (Damerau 1964; Boytsov 2011, §2.2).
size_t changes(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min(
          {d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::optional<std::string_view> nearest_name(std::string_view word,
                                             std::span<const std::string_view> names) {
  constexpr size_t kLongestWord = 64;  // no name is that long
  std::optional<std::string_view> best;
  size_t fewest = 0;
  if (word.empty() || word.size() > kLongestWord) return best;
  for (std::string_view name : names) {
    const size_t n = name.starts_with(word) ? 1 : changes(word, name);
    if (n > std::max<size_t>(1, name.size() / 3)) continue;
    if (!best || n < fewest) {
      best = name;
      fewest = n;
    }
  }
  return best;
}

}  // namespace maglio::app

#include "decode/chances.h"

#include <algorithm>

namespace maglio {
namespace {

// The longest match of each class but the last.
constexpr size_t kClassEnds[] = {1, 2, 3, 5, 8, 16};
constexpr float kFirstChances[] = {0.2f, 0.4f, 0.6f, 0.75f, 0.85f, 0.9f, 0.97f};
constexpr float kFirstWeight = 6;  // guesses that the first chances count for
constexpr float kMemory = 32;      // guesses

}  // namespace

void Chances::learn(DraftSource source, size_t match, bool came_true) {
  Cell& c = cells_[static_cast<size_t>(source)][class_of(match)];
  c.n_seen = std::min(c.n_seen + 1, kMemory);
  c.chance += ((came_true ? 1.0f : 0.0f) - c.chance) / c.n_seen;
}

size_t Chances::class_of(size_t match) {
  const auto at = std::ranges::lower_bound(kClassEnds, match);
  return static_cast<size_t>(at - std::begin(kClassEnds));
}

Chances::Cells Chances::initial() {
  static_assert(std::size(kFirstChances) == kClasses && std::size(kClassEnds) + 1 == kClasses);
  Cells cells;
  for (size_t i = 0; i < kClasses; ++i) cells[i] = {kFirstChances[i], kFirstWeight};
  return cells;
}

}  // namespace maglio

// How often guesses come true, as far as one has seen.
//
// A guess is the better the longer the stretch of text that it continues: after one equal token one
// in five is right, after twenty nearly all are. So chances are kept by source and by the length of
// that stretch, in few classes that a conversation can fill. Each is an average over about the last
// 32 guesses of its class, and begins with what English prose and code have shown
// (docs/decisions/0012-speculation.md).
#pragma once

#include <array>
#include <cstddef>

#include "maglio/generation.h"

namespace maglio {

class Chances {
 public:
  // That a guess of this source is right, where the `match` tokens before it agree.
  float of(DraftSource source, size_t match) const {
    return source == DraftSource::forced ? 1 : cell(source, match).chance;
  }
  void learn(DraftSource source, size_t match, bool came_true);

 private:
  static constexpr size_t kClasses = 7;
  struct Cell {
    float chance;
    float n_seen;
  };
  using Cells = std::array<Cell, kClasses>;

  static size_t class_of(size_t match);
  static Cells initial();
  const Cell& cell(DraftSource source, size_t match) const {
    return cells_[static_cast<size_t>(source)][class_of(match)];
  }

  std::array<Cells, kDraftSources> cells_ = {initial(), initial(), initial(), initial()};
};

}  // namespace maglio

// How long a pass takes, by its number of rows, as measured.
//
// The curve is the machine's and the model's: flat while reading the weights takes longest, then
// rising, with steps where a tile is full. Passes of all sizes get slower and faster together (a
// busy machine, a growing text), so a pass that takes longer than the last of its size lengthens
// the others' times as well, though none was measured.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>

namespace maglio {

class StepTimes {
 public:
  static constexpr size_t kMaxRows = 64;

  // Requires: 0 < n_rows <= kMaxRows.
  void measured(size_t n_rows, std::chrono::nanoseconds time);

  // Nanoseconds. Sizes that nobody has tried lie on the line between those around them, outside
  // those on the hopeful curve. While there are none, only ratios mean anything.
  // Requires: 0 < n_rows <= kMaxRows.
  double estimate(size_t n_rows) const;
  // The curve of a machine on which guesses cost little, in passes of one row.
  static double hopeful(size_t n_rows);

 private:
  bool is_known(size_t n_rows) const { return times_[n_rows] > 0; }

  std::array<double, kMaxRows + 1> times_ = {};  // nanoseconds; 0: not tried
};

}  // namespace maglio

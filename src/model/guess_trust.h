// How far guesses at a layer's experts are worth a read.
//
// A right guess begins a read early. A wrong one takes the disk from reads that are waited for, and
// the place of an expert that was there. So a guess is judged by what became of the ones before it
// in its place of the list: the likeliest is right more often than the last. Only guesses at
// experts that are not in memory count. The others cost nothing, and are right more often: what was
// chosen of late is in memory.
#pragma once

#include <array>
#include <cstddef>

namespace maglio {

// A value, of one layer.
class GuessTrust {
 public:
  // Of the guess at `place` of n, the likeliest first. Requires: place < n.
  bool is_worth_a_read(size_t place, size_t n) const;
  // What became of one.
  void judge(size_t place, size_t n, bool was_right);

 private:
  struct Record {
    double n_right = 0, n_all = 0;  // they fade
  };
  static constexpr size_t kClasses = 8;  // a token of Qwen3's mixtures has eight experts

  std::array<Record, kClasses> records_;
};

}  // namespace maglio

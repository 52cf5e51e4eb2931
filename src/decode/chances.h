// How often guesses come true, as far as one has seen.
//
// A guess is the better the longer the stretch of text that it continues: after one equal token one
// in five is right, after twenty nearly all are. So the rate of errors is a table over that length,
// in few classes, as English prose and code have shown it
// (docs/decisions/0025-guesses-without-a-second-model.md), and what one sees corrects it twice, for
// each source:
//
//     errors(length) = table(class) * trust * own(class)
//
// trust is errors seen over errors expected, in all classes of three equal tokens and more: a text
// that is a copy is so at every length, and shows it before the longest class has been reached. own
// is the same for the class alone, beyond what trust explains. Both begin at 1 and forget.
#pragma once

#include <array>
#include <cstddef>

#include "maglio/generation.h"

namespace maglio {

class Chances {
 public:
  // That a guess of this source is right, where the `match` tokens before it agree.
  float of(DraftSource source, size_t match) const;
  void learn(DraftSource source, size_t match, bool came_true);

 private:
  static constexpr size_t kClasses = 7;

  // Errors seen, over those expected; as if `before` of both had been there before.
  struct Ratio {
    explicit Ratio(float first) : before(first), seen(first), expected(first) {}

    float value() const { return seen / expected; }
    void add(float error, float expectation);

    float before, seen, expected;
  };
  struct Rates {
    Ratio trust{1};
    std::array<Ratio, kClasses> own;
  };

  static std::array<Ratio, kClasses> first_own();
  static size_t class_of(size_t match);
  float errors(const Rates& rates, size_t class_i) const;

  std::array<Rates, kDraftSources> rates_ = {
      Rates{.own = first_own()}, {.own = first_own()}, {.own = first_own()}, {.own = first_own()}};
};

}  // namespace maglio

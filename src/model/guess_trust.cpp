#include "model/guess_trust.h"

#include <cassert>

namespace maglio {
namespace {

// Half of a judgement's weight is gone after 70 later ones.
constexpr double kFade = 0.99;

// Before so many judgements nothing is known, and nothing is read.
constexpr double kTelling = 8;

// A guess has to be right more often than wrong (docs/decisions/0008 has what was measured).
constexpr double kLeastRight = 0.5;

}  // namespace

bool GuessTrust::is_worth_a_read(size_t place, size_t n) const {
  assert(place < n);
  const Record& record = records_[place * kClasses / n];
  return record.n_all >= kTelling && record.n_right >= kLeastRight * record.n_all;
}

void GuessTrust::judge(size_t place, size_t n, bool was_right) {
  assert(place < n);
  Record& record = records_[place * kClasses / n];
  record.n_right = kFade * record.n_right + (was_right ? 1 : 0);
  record.n_all = kFade * record.n_all + 1;
}

}  // namespace maglio

#include "decode/chances.h"

#include <algorithm>

namespace maglio {
namespace {

// The longest match of each class but the last, and the errors of its guesses.
constexpr size_t kClassEnds[] = {1, 2, 3, 5, 8, 16};
constexpr float kTable[] = {0.8f, 0.6f, 0.4f, 0.25f, 0.16f, 0.1f, 0.03f};
constexpr size_t kTrustedFrom = 2;  // class: shorter matches are chance, whatever the text

// One error after a long match is as many as ten times as many guesses were expected to have; it
// ends a copy, and says little about shorter matches.
constexpr float kMostDistrust = 1.5f;

constexpr float kMemory = 64;      // guesses after which what was seen counts for a third
constexpr float kTableWeight = 8;  // guesses that the table counts for in a class's own record

}  // namespace

float Chances::of(DraftSource source, size_t match) const {
  if (source == DraftSource::forced) return 1;
  return 1 - errors(rates_[static_cast<size_t>(source)], class_of(match));
}

void Chances::learn(DraftSource source, size_t match, bool came_true) {
  Rates& rates = rates_[static_cast<size_t>(source)];
  const size_t class_i = class_of(match);
  const float error = came_true ? 0.0f : 1.0f;
  rates.own[class_i].add(error, errors(rates, class_i) / rates.own[class_i].value());
  if (class_i < kTrustedFrom) return;
  rates.trust.add(error, kTable[class_i]);
  rates.trust.seen = std::min(rates.trust.seen, kMostDistrust * rates.trust.expected);
}

void Chances::Ratio::add(float error, float expectation) {
  constexpr float kKept = 1 - 1 / kMemory;
  seen = kKept * seen + (1 - kKept) * before + error;
  expected = kKept * expected + (1 - kKept) * before + expectation;
}

float Chances::errors(const Rates& rates, size_t class_i) const {
  static_assert(std::size(kTable) == kClasses && std::size(kClassEnds) + 1 == kClasses);
  const float trust = class_i >= kTrustedFrom ? rates.trust.value() : 1.0f;
  return std::clamp(kTable[class_i] * trust * rates.own[class_i].value(), 0.001f, 0.99f);
}

std::array<Chances::Ratio, Chances::kClasses> Chances::first_own() {
  const auto ratio = [](size_t i) { return Ratio(kTableWeight * kTable[i]); };
  return {ratio(0), ratio(1), ratio(2), ratio(3), ratio(4), ratio(5), ratio(6)};
}

size_t Chances::class_of(size_t match) {
  const auto at = std::ranges::lower_bound(kClassEnds, match);
  return static_cast<size_t>(at - std::begin(kClassEnds));
}

}  // namespace maglio

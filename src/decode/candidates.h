// Finding the best of many tokens without sorting them.
//
// A vocabulary has 150,000 tokens and a sampler wants a few: sorting it all costs more than the
// step's last matrix product on a small model. Each function here gives what a full sort would
// give (better logit first, on a tie the lower id) and touches every candidate a fixed number of
// times.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "maglio/tokenizer.h"

namespace maglio {

struct Candidate {
  float logit;
  TokenId id;
  uint64_t weight;  // probability times an unknown factor; see candidate_weights in sampler.cpp
};

// The order of a full sort. No two candidates are equal in it.
inline bool better(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

// The k best entries of the logits (all, when there are fewer), in no particular order; entries of
// -infinity are masked and never among them. Requires: k > 0, no NaN.
void select_top_k(std::span<const float> logits, size_t k, std::vector<Candidate>& out);

// Divides a range of logits into levels, best first: a better logit is never on a later level.
class Levels {
 public:
  static constexpr size_t kCount = 4096;

  Levels() = default;
  // Requires: lowest <= highest, their difference finite.
  Levels(float lowest, float highest) : highest_(highest) {
    const float scale = static_cast<float>(kCount - 1) / (highest - lowest);
    if (scale <= std::numeric_limits<float>::max())
      scale_ = scale;  // else all are equal: one level
  }

  // Requires: the logit is in the range.
  size_t operator()(float logit) const {
    // The product may round up to kCount, but not past it.
    return std::min(static_cast<size_t>((highest_ - logit) * scale_), kCount - 1);
  }

 private:
  float highest_ = 0;
  float scale_ = 0;
};

// Keeps the smallest prefix of the sorted order whose weights sum to at least `weight`, in no
// particular order; returns its sum.
// Requires: 0 < weight <= the sum of all weights; all logits in the range of the levels.
uint64_t keep_prefix(std::vector<Candidate>& candidates, const Levels& levels, uint64_t weight);

// The id of the worst candidate of that prefix: where a walk down the sorted order reaches
// `weight`. Requires: as keep_prefix.
TokenId id_at_weight(std::span<const Candidate> candidates, const Levels& levels, uint64_t weight);

}  // namespace maglio

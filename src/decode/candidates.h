// Finding the best of many tokens without sorting them.
//
// A vocabulary has 150,000 tokens and a sampler wants a few: sorting it all costs more than the
// step's last matrix product on a small model. Each function here gives what a full sort would
// give (better logit first, on a tie the lower id) and touches every candidate a fixed number of
// times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace maglio {

struct Candidate {
  float logit;
  int32_t id;
  uint64_t weight;  // probability times an unknown factor; see candidate_weights in sampler.cpp
};

// The order of a full sort. No two candidates are equal in it.
inline bool better(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

// The k best entries of the logits (all, when there are fewer), in no particular order; entries of
// -infinity are masked and never among them. Requires: k > 0, no NaN.
void select_top_k(std::span<const float> logits, size_t k, std::vector<Candidate>& out);

// How many candidates the smallest prefix of the sorted order holds whose weights sum to at least
// `weight`. The prefix is moved to the front, its worst member last.
// Requires: 0 < weight <= the sum of all weights.
size_t move_prefix_to_front(std::span<Candidate> candidates, uint64_t weight);

}  // namespace maglio

#include "decode/candidates.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>

namespace maglio {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

void keep_best(std::vector<Candidate>& candidates, size_t k) {
  if (candidates.size() <= k) return;
  const auto cut = candidates.begin() + static_cast<std::ptrdiff_t>(k);
  std::nth_element(candidates.begin(), cut, candidates.end(), better);
  candidates.erase(cut, candidates.end());
}

// Where a walk down the levels reaches a weight.
struct Edge {
  size_t level;
  uint64_t before;  // weight of the better levels; less than the weight asked for
};

Edge find_edge(std::span<const Candidate> candidates, const Levels& levels, uint64_t weight) {
  std::array<uint64_t, Levels::kCount> weights{};
  for (const Candidate& c : candidates) weights[levels(c.logit)] += c.weight;
  Edge edge{0, 0};
  while (edge.before + weights[edge.level] < weight) {
    edge.before += weights[edge.level++];
    assert(edge.level < Levels::kCount);
  }
  return edge;
}

// Sorts, and cuts after the candidate at which the sum reaches the weight; returns the sum.
uint64_t sort_and_cut(std::vector<Candidate>& candidates, uint64_t weight) {
  std::sort(candidates.begin(), candidates.end(), better);
  uint64_t sum = 0;
  size_t n = 0;
  while (sum < weight) sum += candidates[n++].weight;
  candidates.resize(n);
  return sum;
}

}  // namespace

void select_top_k(std::span<const float> logits, size_t k, std::vector<Candidate>& out) {
  assert(k > 0);
  if (k >= logits.size()) {
    out.resize(logits.size());
    size_t n = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
      out[n] = {logits[i], static_cast<TokenId>(i), 0};
      n += logits[i] != -kInfinity ? 1 : 0;
    }
    out.resize(n);
    return;
  }
  out.clear();
  // Collect until there is twice what is wanted, halve, and from then on take only what beats the
  // worst kept: ids ascend, so a later equal logit is a worse candidate.
  const size_t limit = 2 * k + 64;
  float worst_kept = -kInfinity;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] > worst_kept)) continue;
    out.push_back({logits[i], static_cast<TokenId>(i), 0});
    if (out.size() < limit) continue;
    keep_best(out, k);
    worst_kept = std::max_element(out.begin(), out.end(), better)->logit;
  }
  keep_best(out, k);
}

uint64_t keep_prefix(std::vector<Candidate>& candidates, const Levels& levels, uint64_t weight) {
  assert(weight > 0);
  const Edge edge = find_edge(candidates, levels, weight);
  std::vector<Candidate> at_edge;
  size_t kept = 0;
  for (const Candidate c : candidates) {
    const size_t level = levels(c.logit);
    candidates[kept] = c;  // without a branch: which candidates stay is unpredictable
    kept += level < edge.level ? 1 : 0;
    if (level == edge.level) at_edge.push_back(c);
  }
  const uint64_t sum = sort_and_cut(at_edge, weight - edge.before);
  candidates.resize(kept);
  candidates.insert(candidates.end(), at_edge.begin(), at_edge.end());
  return edge.before + sum;
}

TokenId id_at_weight(std::span<const Candidate> candidates, const Levels& levels, uint64_t weight) {
  assert(weight > 0);
  const Edge edge = find_edge(candidates, levels, weight);
  std::vector<Candidate> at_edge;
  for (const Candidate& c : candidates) {
    if (levels(c.logit) == edge.level) at_edge.push_back(c);
  }
  sort_and_cut(at_edge, weight - edge.before);
  return at_edge.back().id;
}

}  // namespace maglio

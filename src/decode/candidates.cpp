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

// Divides the range of logits into levels, best first: a better logit is never on a later level.
class Levels {
 public:
  static constexpr size_t kCount = 4096;

  explicit Levels(std::span<const Candidate> candidates) {
    float lowest = kInfinity, highest = -kInfinity;
    for (const Candidate& c : candidates) {
      lowest = std::min(lowest, c.logit);
      highest = std::max(highest, c.logit);
    }
    highest_ = highest;
    // All equal, or further apart than a float can say: then there is one level.
    const float range = highest - lowest;
    scale_ = static_cast<float>(kCount - 1) / range;
    if (!std::isfinite(scale_) || !std::isfinite(range)) scale_ = 0;
  }

  size_t operator()(const Candidate& c) const {
    if (scale_ == 0) return 0;
    // The product may round up to kCount, but not past it.
    return std::min(static_cast<size_t>((highest_ - c.logit) * scale_), kCount - 1);
  }

 private:
  float highest_;
  float scale_;
};

size_t sort_and_count(std::span<Candidate> candidates, uint64_t weight) {
  std::sort(candidates.begin(), candidates.end(), better);
  uint64_t sum = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    sum += candidates[i].weight;
    if (sum >= weight) return i + 1;
  }
  return candidates.size();
}

}  // namespace

void select_top_k(std::span<const float> logits, size_t k, std::vector<Candidate>& out) {
  assert(k > 0);
  out.clear();
  if (k >= logits.size()) {
    for (size_t i = 0; i < logits.size(); ++i) {
      if (logits[i] != -kInfinity) out.push_back({logits[i], static_cast<int32_t>(i), 0});
    }
    return;
  }
  // Collect until there is twice what is wanted, halve, and from then on take only what beats the
  // worst kept: ids ascend, so a later equal logit is a worse candidate.
  const size_t limit = 2 * k + 64;
  float worst_kept = -kInfinity;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] > worst_kept)) continue;
    out.push_back({logits[i], static_cast<int32_t>(i), 0});
    if (out.size() < limit) continue;
    keep_best(out, k);
    worst_kept = std::max_element(out.begin(), out.end(), better)->logit;
  }
  keep_best(out, k);
}

size_t move_prefix_to_front(std::span<Candidate> candidates, uint64_t weight) {
  assert(!candidates.empty() && weight > 0);
  constexpr size_t kSmall = 64;
  if (candidates.size() <= kSmall) return sort_and_count(candidates, weight);

  const Levels level_of(candidates);
  std::array<uint64_t, Levels::kCount> level_weights{};
  for (const Candidate& c : candidates) level_weights[level_of(c)] += c.weight;
  size_t level = 0;
  uint64_t before = 0;  // weight of the better levels
  while (before + level_weights[level] < weight) {
    before += level_weights[level++];
    assert(level < Levels::kCount);
  }

  const auto first = std::partition(candidates.begin(), candidates.end(),
                                    [&](const Candidate& c) { return level_of(c) < level; });
  const auto last = std::partition(first, candidates.end(),
                                   [&](const Candidate& c) { return level_of(c) == level; });
  const size_t n_before = static_cast<size_t>(first - candidates.begin());
  return n_before + sort_and_count({first, last}, weight - before);
}

}  // namespace maglio

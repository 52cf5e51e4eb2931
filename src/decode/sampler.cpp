#include "decode/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/float_environment.h"
#include "maglio/error.h"

namespace maglio {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kOne = 0x1p40f;  // weight of the best candidate

void require(bool holds, const char* knob, const char* expected, double found) {
  if (holds) return;
  throw Error(ErrorKind::bad_request, "BadSamplerConfig",
              fmt::format("{}: expected {}, found {}", knob, expected, found));
}

void check(const SamplerConfig& c) {
  require(std::isfinite(c.temperature), "temperature", "a finite number", c.temperature);
  require(c.top_p >= 0 && c.top_p <= 1, "top_p", "a number from 0 to 1", c.top_p);
  require(c.min_p >= 0 && c.min_p <= 1, "min_p", "a number from 0 to 1", c.min_p);
  require(std::isfinite(c.repeat_penalty) && c.repeat_penalty > 0, "repeat_penalty",
          "a finite number above 0", c.repeat_penalty);
  require(std::isfinite(c.frequency_penalty), "frequency_penalty", "a finite number",
          c.frequency_penalty);
  require(std::isfinite(c.presence_penalty), "presence_penalty", "a finite number",
          c.presence_penalty);
  require(c.repeat_last_n >= -1, "repeat_last_n", "-1 or more", c.repeat_last_n);
}

void refuse_unusable(std::span<const float> logits, const Kernels& kernels) {
  if (kernels.rows.all_finite(logits.data(), logits.size())) return;
  bool usable = false, broken = false;
  for (float l : logits) {
    broken |= !(l < kInfinity);
    usable |= l > -kInfinity;
  }
  if (broken) {
    const auto at =
        std::find_if(logits.begin(), logits.end(), [](float l) { return !(l < kInfinity); });
    throw Error(ErrorKind::bad_file, "NonFiniteLogits",
                fmt::format("the model gave token {} the logit {}, expected a finite number; "
                            "is the model file damaged?",
                            at - logits.begin(), *at));
  }
  if (!usable) {
    throw Error(ErrorKind::bad_request, "AllTokensMasked",
                "no token may come next: the constraint forbids the whole vocabulary");
  }
}

// The first of the largest. std::max_element waits for each comparison before the next: over a
// vocabulary of 152,000 that was 3 to 4 % of a step of a 0.6B model, in which every thread waits.
TokenId best_token(std::span<const float> logits, const Kernels& kernels) {
  const float largest = kernels.rows.max(logits.data(), logits.size());
  return static_cast<TokenId>(std::find(logits.begin(), logits.end(), largest) - logits.begin());
}

}  // namespace

Sampler::Sampler(const SamplerConfig& config, const Kernels& kernels)
    : config_(config), kernels_(&kernels), random_(config.seed) {
  check(config);
}

TokenId Sampler::next(std::span<float> logits,
                      std::span<const TokenId> history,
                      Constraint* constraint) {
  const FloatEnvironment standard;
  if (constraint != nullptr) constraint->mask(logits);
  apply_penalties(logits, history);
  refuse_unusable(logits, *kernels_);
  TokenId token;
  if (config_.is_greedy()) {
    token = best_token(logits, *kernels_);
  } else {
    const size_t k = config_.top_k > 0 ? static_cast<size_t>(config_.top_k) : logits.size();
    select_top_k(logits, k, candidates_);
    weigh_candidates();
    cut_top_p();
    cut_min_p();
    token = draw();
  }
  if (constraint != nullptr) constraint->accept(token);
  return token;
}

void Sampler::apply_penalties(std::span<float> logits, std::span<const TokenId> history) {
  const SamplerConfig& c = config_;
  if (c.repeat_penalty == 1 && c.frequency_penalty == 0 && c.presence_penalty == 0) return;
  if (c.repeat_last_n >= 0) {
    history = history.last(std::min(history.size(), static_cast<size_t>(c.repeat_last_n)));
  }
  counts_.resize(logits.size());
  distinct_.clear();
  for (TokenId id : history) {
    if (id < 0 || static_cast<size_t>(id) >= logits.size()) continue;
    if (counts_[static_cast<size_t>(id)]++ == 0) distinct_.push_back(id);
  }
  for (TokenId id : distinct_) {
    uint32_t& count = counts_[static_cast<size_t>(id)];
    float& l = logits[static_cast<size_t>(id)];
    l = l > 0 ? l / c.repeat_penalty : l * c.repeat_penalty;
    l -= static_cast<float>(count) * c.frequency_penalty + c.presence_penalty;
    count = 0;
  }
}

// weight_i = floor(exp((l_i - max) / temperature) * 2^40). Candidates of weight 0 are dropped:
// less likely than 2^-40 beside the best, no draw could tell them from nothing.
void Sampler::weigh_candidates() {
  float max = -kInfinity;
  for (const Candidate& c : candidates_) max = std::max(max, c.logit);
  exponentials_.resize(candidates_.size());
  for (size_t i = 0; i < candidates_.size(); ++i) {
    // The difference first: dividing by a tiny temperature can then only give 0 or -infinity.
    const float score = (candidates_[i].logit - max) / config_.temperature;
    exponentials_[i] = std::max(score, -64.0f);
  }
  kernels_->rows.exp_sum(exponentials_.data(), 0, exponentials_.size(), exponentials_.data());
  size_t kept = 0;
  float lowest = max;
  total_weight_ = 0;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    const auto weight = static_cast<uint64_t>(static_cast<int64_t>(exponentials_[i] * kOne));
    const float logit = candidates_[i].logit;
    candidates_[kept] = {logit, candidates_[i].id, weight};
    kept += weight != 0 ? 1 : 0;
    lowest = weight != 0 && logit < lowest ? logit : lowest;
    total_weight_ += weight;
  }
  candidates_.resize(kept);
  levels_ = Levels(lowest, max);
}

void Sampler::cut_top_p() {
  if (config_.top_p >= 1) return;
  const double wanted =
      std::ceil(static_cast<double>(config_.top_p) * static_cast<double>(total_weight_));
  const uint64_t weight = std::clamp<uint64_t>(static_cast<uint64_t>(wanted), 1, total_weight_);
  total_weight_ = keep_prefix(candidates_, levels_, weight);
}

void Sampler::cut_min_p() {
  if (config_.min_p <= 0) return;
  uint64_t best = 0;
  for (const Candidate& c : candidates_) best = std::max(best, c.weight);
  const auto floor =
      static_cast<uint64_t>(static_cast<double>(config_.min_p) * static_cast<double>(best));
  size_t kept = 0;
  total_weight_ = 0;
  for (const Candidate c : candidates_) {
    if (c.weight < floor) continue;
    candidates_[kept++] = c;
    total_weight_ += c.weight;
  }
  candidates_.resize(kept);
}

TokenId Sampler::draw() {
  const double u = random_.uniform();
  const auto target = static_cast<uint64_t>(u * static_cast<double>(total_weight_));
  return id_at_weight(candidates_, levels_, target + 1);
}

}  // namespace maglio

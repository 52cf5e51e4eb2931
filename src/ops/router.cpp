#include "ops/router.h"

#include <algorithm>
#include <cassert>
#include <tuple>

#include "ops/rows.h"

namespace maglio {
namespace {

// The n largest logits in descending order; weights hold the logits. The first n fill the places,
// so that whatever the logits are, no expert is chosen twice.
void select_largest(std::span<const float> logits, std::span<ExpertChoice> winners) {
  for (size_t i = 0; i < logits.size(); ++i) {
    const size_t n_filled = std::min(i, winners.size());
    if (n_filled == winners.size() && !(logits[i] > winners.back().weight)) continue;
    size_t place = n_filled < winners.size() ? n_filled : n_filled - 1;
    for (; place > 0 && logits[i] > winners[place - 1].weight; --place) {
      winners[place] = winners[place - 1];
    }
    winners[place] = {static_cast<uint32_t>(i), logits[i]};  // a tie stays with the lower expert
  }
}

float sum_of(std::span<const ExpertChoice> choices) {
  float sum = 0;
  for (const ExpertChoice& choice : choices) sum += choice.weight;
  return sum;
}

// How many of the choices, from the heaviest on, reach top_p of their sum; they are rescaled to it.
size_t keep_top_p(std::span<ExpertChoice> choices, float top_p) {
  if (top_p >= 1) return choices.size();
  const float all = sum_of(choices);
  float kept = 0;
  size_t n = 0;
  while (n < choices.size() && (n == 0 || kept < top_p * all)) kept += choices[n++].weight;
  for (ExpertChoice& choice : choices.first(n)) choice.weight *= all / kept;
  return n;
}

}  // namespace

Routing route(Context& cx, Tensor<const float, Seq, Expert> logits, const RouterOptions& options) {
  const size_t n_tokens = logits.extent<Seq>();
  const size_t n_experts = logits.extent<Expert>();
  assert(options.n_used >= 1 && options.n_used <= n_experts);
  auto* const choices = cx.arena.array<ExpertChoice>(n_tokens * options.n_used);
  auto* const n_of = cx.arena.array<size_t>(n_tokens);
  float* const exponentials = cx.arena.array<float>(n_tokens * n_experts);
  for_each_row(cx, n_tokens, n_experts, [&](size_t token) {
    const std::span<const float> row = logits.select<Seq>(token).span();
    const std::span<ExpertChoice> winners(choices + token * options.n_used, options.n_used);
    select_largest(row, winners);
    float* const e = exponentials + token * n_experts;
    const float highest = cx.kernels.rows.max(row.data(), n_experts);
    const float sum = cx.kernels.rows.exp_sum(row.data(), highest, n_experts, e);
    for (ExpertChoice& winner : winners) winner.weight = e[winner.expert] / sum;
    if (options.normalize_selected) {
      const float selected = sum_of(winners);
      for (ExpertChoice& winner : winners) winner.weight /= selected;
    }
    n_of[token] = keep_top_p(winners, options.top_p);
  });
  return {choices, n_of, n_tokens, options.n_used};
}

std::span<const ExpertDemand> demand(Context& cx, const Routing& routing, size_t n_experts) {
  auto* const of = cx.arena.array<ExpertDemand>(n_experts);
  for (size_t e = 0; e < n_experts; ++e) of[e] = {static_cast<uint32_t>(e), 0};
  for (size_t t = 0; t < routing.n_tokens(); ++t) {
    for (const ExpertChoice& choice : routing.of(t)) ++of[choice.expert].n_tokens;
  }
  ExpertDemand* const end = std::remove_if(
      of, of + n_experts, [](const ExpertDemand& demand) { return demand.n_tokens == 0; });
  return {of, end};
}

std::span<const ExpertDemand> likeliest_first(Context& cx,
                                              const Routing& routing,
                                              size_t n_experts) {
  const std::span<const ExpertDemand> all = demand(cx, routing, n_experts);
  auto* const place = cx.arena.array<size_t>(n_experts);  // the best, of those in `all`
  for (const ExpertDemand& one : all) place[one.expert] = routing.n_used();
  for (size_t t = 0; t < routing.n_tokens(); ++t) {
    const std::span<const ExpertChoice> choices = routing.of(t);
    for (size_t i = 0; i < choices.size(); ++i) {
      place[choices[i].expert] = std::min(place[choices[i].expert], i);
    }
  }
  auto* const ordered = cx.arena.array<ExpertDemand>(all.size());
  std::ranges::copy(all, ordered);
  std::sort(ordered, ordered + all.size(), [&](const ExpertDemand& a, const ExpertDemand& b) {
    return std::tuple(b.n_tokens, place[a.expert], a.expert) <
           std::tuple(a.n_tokens, place[b.expert], b.expert);
  });
  return {ordered, all.size()};
}

}  // namespace maglio

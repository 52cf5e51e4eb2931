#include "ops/mixture.h"

#include <algorithm>
#include <cassert>

#include "ops/rounded.h"
#include "ops/rows.h"

namespace maglio {
namespace {

// The pairs (token, choice), grouped by expert: those of expert e are first[e] ... first[e + 1].
// Inside a group tokens ascend.
struct Groups {
  const uint32_t* tokens;   // of each pair
  const uint32_t* first;    // [n_experts + 1]
  const uint32_t* pair_of;  // of choice c of token t: pair_of[first_choice[t] + c]
  const uint32_t* first_choice;
  size_t n_pairs;
  size_t n_experts;

  size_t size(size_t expert) const { return first[expert + 1] - first[expert]; }
};

// A counting sort.
Groups group_by_expert(Context& cx, const Routing& routing, size_t n_experts) {
  const size_t n_tokens = routing.n_tokens();
  auto* const first_choice = cx.arena.array<uint32_t>(n_tokens + 1);
  auto* const first = cx.arena.array<uint32_t>(n_experts + 1);
  std::fill_n(first, n_experts + 1, 0u);
  first_choice[0] = 0;
  for (size_t t = 0; t < n_tokens; ++t) {
    for (const ExpertChoice& choice : routing.of(t)) ++first[choice.expert + 1];
    first_choice[t + 1] = first_choice[t] + static_cast<uint32_t>(routing.of(t).size());
  }
  for (size_t e = 0; e < n_experts; ++e) first[e + 1] += first[e];
  const size_t n_pairs = first[n_experts];
  auto* const next = cx.arena.array<uint32_t>(n_experts);
  std::copy_n(first, n_experts, next);
  auto* const tokens = cx.arena.array<uint32_t>(n_pairs);
  auto* const pair_of = cx.arena.array<uint32_t>(n_pairs);
  for (size_t t = 0; t < n_tokens; ++t) {
    size_t place = first_choice[t];
    for (const ExpertChoice& choice : routing.of(t)) {
      const uint32_t pair = next[choice.expert]++;
      tokens[pair] = static_cast<uint32_t>(t);
      pair_of[place++] = pair;
    }
  }
  return {tokens, first, pair_of, first_choice, n_pairs, n_experts};
}

// Of rows rounded for the router too, those that gate and up read.
detail::QuantBuffers read_by(Context& cx,
                             const detail::QuantBuffers& h,
                             const Projections<Embed, Ff, Ff>& gate_up) {
  detail::QuantBuffers kept{.n_rows = h.n_rows, .n_in = h.n_in};
  std::apply(
      [&](const auto&... part) {
        for (const DType dtype : {part.matrix.dtype...}) {
          const auto c = static_cast<size_t>(format_kernels(cx.kernels, dtype).activation);
          kept.by_class[c] = h.by_class[c];
        }
      },
      gate_up.parts);
  return kept;
}

// The rounded rows of each expert's tokens, [expert].
const detail::QuantBuffers* gather(Context& cx,
                                   const detail::QuantBuffers& h,
                                   const Groups& groups) {
  auto* const rows = cx.arena.array<detail::QuantBuffers>(groups.n_experts);
  for (size_t e = 0; e < groups.n_experts; ++e) {
    rows[e] = {.n_rows = groups.size(e), .n_in = h.n_in};
    for (size_t c = 0; c < kActivationClasses && groups.size(e) > 0; ++c) {
      if (h.by_class[c] == nullptr) continue;
      rows[e].by_class[c] = cx.arena.bytes(cx.kernels.activations[c].bytes(groups.size(e), h.n_in));
    }
  }
  cx.pool.parallel_for(groups.n_experts, 1, [&](size_t begin, size_t end, size_t) {
    for (size_t e = begin; e < end; ++e) {
      for (size_t c = 0; c < kActivationClasses; ++c) {
        if (rows[e].by_class[c] == nullptr) continue;
        cx.kernels.activations[c].gather(h.by_class[c], h.n_rows, h.n_in,
                                         groups.tokens + groups.first[e], groups.size(e),
                                         const_cast<std::byte*>(rows[e].by_class[c]));
      }
    }
  });
  return rows;
}

// What gate and up give for every pair: [n_pairs, gate.width], up's beside it.
struct GateUp {
  float* gate;
  float* up;
  size_t stride;
};

GateUp project_pairs(Context& cx,
                     const detail::QuantBuffers& h,
                     const Groups& groups,
                     std::span<const FeedForward> experts) {
  const WeightMatrix& gate = std::get<0>(experts[0].gate_up.parts).matrix;
  const WeightMatrix& up = std::get<1>(experts[0].gate_up.parts).matrix;
  const size_t gate_width = gate.n_panels() * kPanelRows;  // a part begins at a panel of its own
  const size_t stride = gate_width + up.n_panels() * kPanelRows;
  float* const out = cx.arena.array<float>(groups.n_pairs * stride);
  const Arena::Scope scope(cx.arena);
  const detail::QuantBuffers* const rows = gather(cx, read_by(cx, h, experts[0].gate_up), groups);
  auto* const products = cx.arena.array<detail::Product>(2 * experts.size());
  size_t n = 0;
  for (size_t e = 0; e < experts.size(); ++e) {
    if (groups.size(e) == 0) continue;
    const Projections<Embed, Ff, Ff>& w = experts[e].gate_up;
    float* const to = out + groups.first[e] * stride;
    if (w.fused) {
      products[n++] = {rows[e], *w.fused, to, stride};
    } else {
      products[n++] = {rows[e], std::get<0>(w.parts).matrix, to, stride};
      products[n++] = {rows[e], std::get<1>(w.parts).matrix, to + gate_width, stride};
    }
  }
  detail::multiply(cx, {products, n});
  return {out, out + gate_width, stride};
}

// silu(gate) * up, rounded for each expert's down: [expert].
const detail::QuantBuffers* pass(Context& cx,
                                 const GateUp& x,
                                 const Groups& groups,
                                 std::span<const FeedForward> experts) {
  const size_t d_ff = experts[0].down.matrix.n_in;
  auto* const passed = cx.arena.array<detail::QuantBuffers>(experts.size());
  auto* const rounded = cx.arena.array<detail::RoundedRows>(experts.size());
  auto* const expert_of = cx.arena.array<uint32_t>(groups.n_pairs);
  for (size_t e = 0; e < experts.size(); ++e) {
    new (&rounded[e])
        detail::RoundedRows(cx, groups.size(e), d_ff, {&experts[e].down.matrix.dtype, 1});
    passed[e] = rounded[e].buffers();
    std::fill(expert_of + groups.first[e], expert_of + groups.first[e + 1],
              static_cast<uint32_t>(e));
  }
  const Arena::Scope scope(cx.arena);
  float* const scratch = cx.arena.array<float>(cx.pool.size() * d_ff);
  const size_t grain = std::max<size_t>(1, kNumbersWorthAThread / d_ff);
  cx.pool.parallel_for(groups.n_pairs, grain, [&](size_t begin, size_t end, size_t thread_i) {
    float* const row = scratch + thread_i * d_ff;
    for (size_t pair = begin; pair < end; ++pair) {
      const size_t e = expert_of[pair];
      cx.kernels.rows.swiglu(x.gate + pair * x.stride, x.up + pair * x.stride, d_ff, row);
      rounded[e].set(cx, pair - groups.first[e], row);
    }
  });
  return passed;
}

}  // namespace

Tensor<float, Seq, Embed> mix(Context& cx,
                              const QuantRows<Seq, Embed>& h,
                              const Routing& routing,
                              std::span<const FeedForward> experts) {
  assert(routing.n_tokens() == h.buffers.n_rows);
  const size_t d_model = experts[0].down.matrix.n_out;
  const Tensor<float, Seq, Embed> out = cx.arena.tensor<Seq, Embed>({routing.n_tokens(), d_model});
  const Arena::Scope scope(cx.arena);
  const Groups groups = group_by_expert(cx, routing, experts.size());
  const GateUp gate_up = project_pairs(cx, h.buffers, groups, experts);
  const detail::QuantBuffers* const passed = pass(cx, gate_up, groups, experts);
  float* const of_pair = cx.arena.array<float>(groups.n_pairs * d_model);
  auto* const products = cx.arena.array<detail::Product>(experts.size());
  for (size_t e = 0; e < experts.size(); ++e) {
    products[e] = {passed[e], experts[e].down.matrix, of_pair + groups.first[e] * d_model, d_model};
  }
  detail::multiply(cx, {products, experts.size()});
  for_each_row(cx, routing.n_tokens(), d_model * routing.n_used(), [&](size_t token) {
    float* const sum = out.select<Seq>(token).span().data();
    std::fill_n(sum, d_model, 0.0f);
    const std::span<const ExpertChoice> choices = routing.of(token);
    for (size_t i = 0; i < choices.size(); ++i) {
      float* const y = of_pair + groups.pair_of[groups.first_choice[token] + i] * d_model;
      cx.kernels.rows.scale(y, choices[i].weight, d_model, y);
      cx.kernels.rows.add(sum, y, d_model);
    }
  });
  return out;
}

}  // namespace maglio

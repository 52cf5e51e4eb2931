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
  return {tokens, first, pair_of, first_choice, n_pairs};
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

// Some experts that are there together, and the rows of their pairs: those of lent[i] are
// [first[i], first[i + 1]) of whatever is computed for all of them.
struct Turn {
  std::span<const LentExpert> lent;
  const Groups& groups;
  const uint32_t* first;  // [lent.size() + 1]

  size_t n_pairs() const { return first[lent.size()]; }
  size_t size(size_t i) const { return first[i + 1] - first[i]; }
  const uint32_t* tokens(size_t i) const { return groups.tokens + groups.first[lent[i].expert]; }
};

Turn make_turn(Context& cx, std::span<const LentExpert> lent, const Groups& groups) {
  auto* const first = cx.arena.array<uint32_t>(lent.size() + 1);
  first[0] = 0;
  for (size_t i = 0; i < lent.size(); ++i) {
    first[i + 1] = first[i] + static_cast<uint32_t>(groups.size(lent[i].expert));
  }
  return {lent, groups, first};
}

// The rounded rows of each expert's tokens, [lent].
const detail::QuantBuffers* gather(Context& cx, const detail::QuantBuffers& h, const Turn& turn) {
  const size_t n = turn.lent.size();
  auto* const rows = cx.arena.array<detail::QuantBuffers>(n);
  for (size_t i = 0; i < n; ++i) {
    rows[i] = {.n_rows = turn.size(i), .n_in = h.n_in};
    for (size_t c = 0; c < kActivationClasses; ++c) {
      if (h.by_class[c] == nullptr) continue;
      rows[i].by_class[c] = cx.arena.bytes(cx.kernels.activations[c].bytes(turn.size(i), h.n_in));
    }
  }
  cx.pool.parallel_for(n, 1, [&](size_t begin, size_t end, size_t) {
    for (size_t i = begin; i < end; ++i) {
      for (size_t c = 0; c < kActivationClasses; ++c) {
        if (rows[i].by_class[c] == nullptr) continue;
        cx.kernels.activations[c].gather(h.by_class[c], h.n_rows, h.n_in, turn.tokens(i),
                                         turn.size(i), const_cast<std::byte*>(rows[i].by_class[c]));
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

GateUp project_pairs(Context& cx, const detail::QuantBuffers& h, const Turn& turn) {
  const Projections<Embed, Ff, Ff>& form = turn.lent[0].weights.gate_up;
  const WeightMatrix& gate = std::get<0>(form.parts).matrix;
  const WeightMatrix& up = std::get<1>(form.parts).matrix;
  const size_t gate_width = gate.n_panels() * kPanelRows;  // a part begins at a panel of its own
  const size_t stride = gate_width + up.n_panels() * kPanelRows;
  float* const out = cx.arena.array<float>(turn.n_pairs() * stride);
  const Arena::Scope scope(cx.arena);
  const detail::QuantBuffers* const rows = gather(cx, read_by(cx, h, form), turn);
  auto* const products = cx.arena.array<detail::Product>(2 * turn.lent.size());
  size_t n = 0;
  for (size_t i = 0; i < turn.lent.size(); ++i) {
    const Projections<Embed, Ff, Ff>& w = turn.lent[i].weights.gate_up;
    float* const to = out + turn.first[i] * stride;
    if (w.fused) {
      products[n++] = {rows[i], *w.fused, to, stride};
    } else {
      products[n++] = {rows[i], std::get<0>(w.parts).matrix, to, stride};
      products[n++] = {rows[i], std::get<1>(w.parts).matrix, to + gate_width, stride};
    }
  }
  detail::multiply(cx, {products, n});
  return {out, out + gate_width, stride};
}

// silu(gate) * up, rounded for each expert's down: [lent].
const detail::QuantBuffers* pass(Context& cx, const GateUp& x, const Turn& turn) {
  const size_t n = turn.lent.size();
  const size_t d_ff = turn.lent[0].weights.down.matrix.n_in;
  auto* const passed = cx.arena.array<detail::QuantBuffers>(n);
  auto* const rounded = cx.arena.array<detail::RoundedRows>(n);
  auto* const lent_of = cx.arena.array<uint32_t>(turn.n_pairs());
  for (size_t i = 0; i < n; ++i) {
    new (&rounded[i])
        detail::RoundedRows(cx, turn.size(i), d_ff, {&turn.lent[i].weights.down.matrix.dtype, 1});
    passed[i] = rounded[i].buffers();
    std::fill(lent_of + turn.first[i], lent_of + turn.first[i + 1], static_cast<uint32_t>(i));
  }
  const Arena::Scope scope(cx.arena);
  float* const scratch = cx.arena.array<float>(cx.pool.size() * d_ff);
  const size_t grain = std::max<size_t>(1, kNumbersWorthAThread / d_ff);
  cx.pool.parallel_for(turn.n_pairs(), grain, [&](size_t begin, size_t end, size_t thread_i) {
    float* const row = scratch + thread_i * d_ff;
    for (size_t pair = begin; pair < end; ++pair) {
      const size_t i = lent_of[pair];
      cx.kernels.rows.swiglu(x.gate + pair * x.stride, x.up + pair * x.stride, d_ff, row);
      rounded[i].set(cx, pair - turn.first[i], row);
    }
  });
  return passed;
}

// What experts that are there together say to their pairs: of_pair is [n_pairs, d_model], of all
// experts' pairs.
void run_turn(Context& cx, const detail::QuantBuffers& h, const Turn& turn, float* of_pair) {
  const Arena::Scope scope(cx.arena);
  const GateUp gate_up = project_pairs(cx, h, turn);
  const detail::QuantBuffers* const passed = pass(cx, gate_up, turn);
  auto* const products = cx.arena.array<detail::Product>(turn.lent.size());
  for (size_t i = 0; i < turn.lent.size(); ++i) {
    const WeightMatrix& down = turn.lent[i].weights.down.matrix;
    const size_t first = turn.groups.first[turn.lent[i].expert];
    products[i] = {passed[i], down, of_pair + first * down.n_out, down.n_out};
  }
  detail::multiply(cx, {products, turn.lent.size()});
}

}  // namespace

Tensor<float, Seq, Embed> mix(Context& cx,
                              const QuantRows<Seq, Embed>& h,
                              const Routing& routing,
                              ExpertSource& experts) {
  assert(routing.n_tokens() == h.buffers.n_rows);
  const size_t d_model = experts.form().down.matrix.n_out;
  const Tensor<float, Seq, Embed> out = cx.arena.tensor<Seq, Embed>({routing.n_tokens(), d_model});
  const Arena::Scope scope(cx.arena);
  const Groups groups = group_by_expert(cx, routing, experts.n_experts());
  float* const of_pair = cx.arena.array<float>(groups.n_pairs * d_model);
  const auto use = [&](std::span<const LentExpert> lent) {
    const Arena::Scope turn_scope(cx.arena);
    run_turn(cx, h.buffers, make_turn(cx, lent, groups), of_pair);
  };
  experts.lend(demand(cx, routing, experts.n_experts()), std::ref(use));
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

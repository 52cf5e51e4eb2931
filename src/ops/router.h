// Which experts a token goes to, and how much each of them counts.
//
//   p = softmax(logits) over all experts
//   the n_used largest logits win; on a tie the lower expert
//   w_i = p_i, or p_i / (the sum of the winners' p) with normalize_selected     (Qwen3:
//   norm_topk_prob)
//
// One pass over the logits with an insertion into n_used places: n_used is a single digit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/context.h"
#include "tensor/tensor.h"

namespace maglio {

struct RouterOptions {
  size_t n_used = 0;  // experts of a token
  bool normalize_selected = true;
  // Below 1, a token keeps the fewest of its experts whose weights reach this share of their sum,
  // rescaled to that sum: quality traded for work. From 1 on nothing is touched, to the last bit.
  float top_p = 1;
};

struct ExpertChoice {
  uint32_t expert;
  float weight;
};

// Of each token, in descending order of weight; the places of dropped choices are not used.
class Routing {
 public:
  Routing(ExpertChoice* choices, size_t* n_of, size_t n_tokens, size_t n_used)
      : choices_(choices), n_of_(n_of), n_tokens_(n_tokens), n_used_(n_used) {}

  size_t n_tokens() const { return n_tokens_; }
  size_t n_used() const { return n_used_; }  // of a token, at most
  std::span<const ExpertChoice> of(size_t token) const {
    return {choices_ + token * n_used_, n_of_[token]};
  }

 private:
  ExpertChoice* choices_;
  size_t* n_of_;
  size_t n_tokens_;
  size_t n_used_;
};

// In the arena. Requires: 1 <= n_used <= the number of experts. A logit that is NaN makes the
// token's weights NaN: nothing of it is hidden.
Routing route(Context& cx, Tensor<const float, Seq, Expert> logits, const RouterOptions& options);

// An expert that tokens were routed to, and how many of them.
struct ExpertDemand {
  uint32_t expert;
  uint32_t n_tokens;
};
// All that any token was routed to, ascending. In the arena.
std::span<const ExpertDemand> demand(Context& cx, const Routing& routing, size_t n_experts);
// The same with the likeliest first: by tokens, then by the best place in a token's choices.
std::span<const ExpertDemand> likeliest_first(Context& cx,
                                              const Routing& routing,
                                              size_t n_experts);

}  // namespace maglio

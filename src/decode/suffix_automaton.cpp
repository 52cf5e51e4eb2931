#include "decode/suffix_automaton.h"

#include <algorithm>

namespace maglio {
namespace {

// Links followed to note a new place. A text of words has ten; only one that repeats itself for
// that many tokens has more, and each token of it would cost as many.
constexpr size_t kLongestWalk = 1024;

}  // namespace

void SuffixAutomaton::append(TokenId token) {
  text_.push_back(token);
  const auto end = static_cast<uint32_t>(text_.size());
  const auto added = static_cast<uint32_t>(states_.size());
  states_.push_back({.length = end, .link = kRoot, .end = end, .edges = {}});
  states_[added].link = link_of_new(last_, token, added);
  last_ = added;

  uint32_t state = states_[added].link;
  earlier_ = {states_[state].length, states_[state].end};
  if (state == kRoot) earlier_ = {};
  for (size_t walked = 0; state != kRoot && walked < kLongestWalk; ++walked) {
    states_[state].end = end;
    state = states_[state].link;
  }
}

// Gives every ending of the text so far its edge to the added state, up to the longest that had one
// already: that edge's target is what the added state links to.
uint32_t SuffixAutomaton::link_of_new(uint32_t from, TokenId token, uint32_t added) {
  while (from != kNone) {
    if (const Edge* edge = find_edge(from, token)) {
      const uint32_t target = edge->target;
      const bool is_longest = states_[from].length + 1 == states_[target].length;
      return is_longest ? target : split(from, token, target);
    }
    add_edge(from, token, added);
    from = states_[from].link;
  }
  return kRoot;
}

// The target's shorter stretches now end in a place where its longer ones do not: they get a state
// of their own.
uint32_t SuffixAutomaton::split(uint32_t from, TokenId token, uint32_t target) {
  const auto shorter = static_cast<uint32_t>(states_.size());
  states_.push_back(State(states_[target]));
  states_[shorter].length = states_[from].length + 1;
  states_[target].link = shorter;
  while (from != kNone) {
    Edge* const edge = find_edge(from, token);
    if (edge == nullptr || edge->target != target) break;
    edge->target = shorter;
    from = states_[from].link;
  }
  return shorter;
}

SuffixAutomaton::Edge* SuffixAutomaton::find_edge(uint32_t state, TokenId token) {
  std::vector<Edge>& edges = states_[state].edges;
  const auto at = std::ranges::lower_bound(edges, token, {}, &Edge::token);
  return at != edges.end() && at->token == token ? &*at : nullptr;
}

void SuffixAutomaton::add_edge(uint32_t state, TokenId token, uint32_t target) {
  std::vector<Edge>& edges = states_[state].edges;
  edges.insert(std::ranges::lower_bound(edges, token, {}, &Edge::token), {token, target});
}

}  // namespace maglio

#include "decode/frozen_automaton.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace maglio {

FrozenAutomaton::FrozenAutomaton(std::span<const TokenId> text) : text_(text.begin(), text.end()) {
  SuffixAutomaton grown;
  for (TokenId token : text) grown.append(token);
  pack(grown);
  find_last_places();
}

void FrozenAutomaton::pack(const SuffixAutomaton& grown) {
  states_.reserve(grown.states_.size() + 1);
  for (const SuffixAutomaton::State& state : grown.states_) {
    states_.push_back({.length = state.length,
                       .link = state.link,
                       .end = 0,
                       .first_edge = static_cast<uint32_t>(edges_.size())});
    edges_.insert(edges_.end(), state.edges.begin(), state.edges.end());
  }
  states_.push_back({0, 0, 0, static_cast<uint32_t>(edges_.size())});
}

// The beginnings of the text have a state each, and a place. A stretch ends wherever a longer one
// ends that links to it: longest first, so that each state is complete before it is passed on.
void FrozenAutomaton::find_last_places() {
  uint32_t state = SuffixAutomaton::kRoot;
  for (size_t i = 0; i + 1 < text_.size(); ++i) {
    state = find_edge(state, text_[i])->target;
    states_[state].end = static_cast<uint32_t>(i + 1);
  }
  std::vector<uint32_t> order(states_.size() - 1);
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, std::greater(), [&](uint32_t i) { return states_[i].length; });
  order.pop_back();  // the root, which ends everywhere
  for (uint32_t i : order) {
    State& link = states_[states_[i].link];
    link.end = std::max(link.end, states_[i].end);
  }
}

const FrozenAutomaton::Edge* FrozenAutomaton::find_edge(uint32_t state, TokenId token) const {
  const auto first = edges_.begin() + states_[state].first_edge;
  const auto last = edges_.begin() + states_[state + 1].first_edge;
  const auto at = std::ranges::lower_bound(first, last, token, {}, &Edge::token);
  return at != last && at->token == token ? &*at : nullptr;
}

void FrozenAutomaton::Cursor::append(TokenId token) {
  const FrozenAutomaton& a = *automaton_;
  while (true) {
    if (const Edge* edge = a.find_edge(state_, token)) {
      state_ = edge->target;
      ++length_;
      return;
    }
    if (state_ == SuffixAutomaton::kRoot) return;
    state_ = a.states_[state_].link;
    length_ = a.states_[state_].length;
  }
}

TextMatch FrozenAutomaton::Cursor::match() const {
  const FrozenAutomaton& a = *automaton_;
  uint32_t state = state_;
  size_t length = length_;
  while (state != SuffixAutomaton::kRoot && a.states_[state].end == 0) {
    state = a.states_[state].link;
    length = a.states_[state].length;
  }
  if (state == SuffixAutomaton::kRoot) return {};
  return {length, a.states_[state].end};
}

}  // namespace maglio

// Has this text said its last words before, and what came then?
//
// A suffix automaton is the smallest machine that accepts every stretch of a text: a state stands
// for the stretches that end at the same places, and its link leads to the longest shorter ending
// that also ends elsewhere (Blumer et al. 1985). It grows with the text, a token at a time. The
// state that a new token makes links to just what is asked here: the longest ending that has been
// seen before.
//
// At most 2 states and 3 edges a token (150 bytes together for prose and code); appending takes
// amortized constant time and a binary search among a state's edges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "maglio/tokenizer.h"

namespace maglio {

// A stretch of a text: the `length` tokens before `end`. What came after it begins at `end`.
struct TextMatch {
  size_t length = 0;  // 0: none
  size_t end = 0;
  bool operator==(const TextMatch&) const = default;
};

class SuffixAutomaton {
 public:
  SuffixAutomaton() { states_.emplace_back(); }

  // Requires: fewer than 2^30 tokens.
  void append(TokenId token);

  std::span<const TokenId> text() const { return text_; }
  // The longest ending of the text that also ends earlier, and its most recent place there. (Where
  // a text repeats itself for thousands of tokens, an older place for endings far below the
  // longest.)
  TextMatch earlier() const { return earlier_; }

 private:
  friend class FrozenAutomaton;

  struct Edge {
    TokenId token;
    uint32_t target;
  };
  struct State {
    uint32_t length = 0;  // of its longest stretch
    uint32_t link = kNone;
    uint32_t end = 0;         // its most recent place
    std::vector<Edge> edges;  // by token
  };
  static constexpr uint32_t kRoot = 0;
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t link_of_new(uint32_t from, TokenId token, uint32_t added);
  uint32_t split(uint32_t from, TokenId token, uint32_t target);
  Edge* find_edge(uint32_t state, TokenId token);
  void add_edge(uint32_t state, TokenId token, uint32_t target);

  std::vector<TokenId> text_;
  std::vector<State> states_;
  uint32_t last_ = kRoot;
  TextMatch earlier_;
};

}  // namespace maglio

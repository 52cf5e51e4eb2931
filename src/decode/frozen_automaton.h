// A reference text in which a conversation's last words are looked up: the suffix automaton of a
// text that is complete, packed for reading. At most 60 bytes a token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "decode/suffix_automaton.h"

namespace maglio {

// Immutable: any number of threads and conversations may read one.
class FrozenAutomaton {
 public:
  explicit FrozenAutomaton(std::span<const TokenId> text);

  std::span<const TokenId> text() const { return text_; }

  // A reader of another text, which knows how much of its ending occurs in this one.
  class Cursor {
   public:
    // Borrows the automaton.
    explicit Cursor(const FrozenAutomaton& automaton) : automaton_(&automaton) {}

    void append(TokenId token);
    // The longest ending of what was appended that this text has a next token for, and its last
    // place.
    TextMatch match() const;

   private:
    const FrozenAutomaton* automaton_;
    uint32_t state_ = 0;
    uint32_t length_ = 0;
  };

 private:
  using Edge = SuffixAutomaton::Edge;
  struct State {
    uint32_t length, link;
    uint32_t end;  // the last place that something follows; 0: none
    uint32_t first_edge;
  };

  void pack(const SuffixAutomaton& grown);
  void find_last_places();
  const Edge* find_edge(uint32_t state, TokenId token) const;

  std::vector<TokenId> text_;
  std::vector<State> states_;  // and one more, that ends the edges of the last
  std::vector<Edge> edges_;
};

}  // namespace maglio

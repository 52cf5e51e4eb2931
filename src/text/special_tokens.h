// Finds the special tokens in a text.
//
// llama.cpp's rule, which maglio follows: the longest special token takes all its occurrences from
// left to right, then the next longest takes what is left, and so on; of equal length the lower id
// goes first. (Not "the leftmost wins": of the tokens "ab" and "bcd", "abcd" gives a + bcd.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "maglio/tokenizer.h"

namespace maglio {

class SpecialTokens {
 public:
  struct Match {
    size_t begin;  // [bytes]
    size_t size;   // [bytes]
    TokenId id;
  };

  SpecialTokens() { roots_.fill(kNone); }

  // Requires: the text is not empty; ids come in ascending order.
  void add(std::string_view text, TokenId id);

  // The chosen occurrences from left to right; they do not overlap. Time: linear in the text for
  // bounded token lengths.
  std::vector<Match> find(std::string_view text) const;

 private:
  // A trie; the children of a node are a linked list.
  struct Node {
    char byte;
    uint32_t child = kNone;
    uint32_t sibling = kNone;
    TokenId token = -1;
  };
  static constexpr uint32_t kNone = 0xFFFFFFFF;

  uint32_t find_in_list(uint32_t first, char byte) const;

  std::array<uint32_t, 256> roots_{};  // by first byte: almost every position ends here
  std::vector<Node> nodes_;
};

}  // namespace maglio

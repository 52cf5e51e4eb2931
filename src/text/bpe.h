// Byte-pair encoding of one chunk: start from its bytes and merge, again and again, the adjacent
// pair whose rule comes first in the list of merges; of equal pairs the leftmost.
//
//   merges {"l o", "lo w", "e r", "low er"}:  l o w e r -> lo w e r -> low e r -> low er -> lower
//
// Sennrich et al. 2016 (arXiv:1508.07909), with GPT-2's byte alphabet. Symbols are integers: tokens
// keep their ids, spellings that only merges know get numbers above. A heap holds the pairs that
// can merge, so a chunk of n bytes takes O(n log n) time and fewer than 3n heap steps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "maglio/tokenizer.h"
#include "text/vocabulary.h"

namespace maglio {

class Bpe {
 public:
  // Working memory, reused from chunk to chunk. One per thread.
  struct Scratch {
    struct Node {
      int32_t symbol;  // kMerged once it is part of its left neighbour
      uint32_t next;   // index of the right neighbour, or kNone
      uint32_t prev;
    };
    struct Candidate {
      uint32_t rank;
      uint32_t left;  // node
      uint32_t rule;  // index into the table of rules
    };
    std::vector<Node> nodes;      // one per byte of the chunk
    std::vector<Candidate> heap;  // lowest rank, then leftmost, first
    size_t n_steps = 0;           // candidates taken off the heap so far, over all chunks
  };

  // Throws: Error bad_file BadMerge.
  Bpe(const Vocabulary& vocabulary, std::span<const std::string_view> merges);

  // Appends the ids of one chunk. A merged symbol that is no token falls back to its bytes.
  // Requires: chunk.size() < 2^32. Throws: Error bad_file UnknownSymbol (a byte is no token).
  void encode(std::string_view chunk, Scratch& scratch, std::vector<TokenId>& ids) const;

 private:
  struct Rule {
    int32_t left = kEmpty;
    int32_t right = kEmpty;
    int32_t merged = kEmpty;
    uint32_t rank = 0;
  };
  static constexpr int32_t kEmpty = -1;

  void add_rule(const Rule& rule);
  // Index of the pair's rule, or kNone.
  uint32_t find_rule(int32_t left, int32_t right) const;
  size_t slot_of(int32_t left, int32_t right) const;
  void propose(Scratch& scratch, uint32_t left) const;
  void merge_all(Scratch& scratch) const;
  void append_bytes(std::string_view bytes, std::vector<TokenId>& ids) const;

  size_t vocab_size_;
  std::array<int32_t, 256> byte_symbols_{};
  std::vector<Rule> rules_;  // open addressing: size is a power of two, at most 2/3 full
};

}  // namespace maglio

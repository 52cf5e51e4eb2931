// A drafter without a model: text repeats itself.
//
// The last words of the conversation are looked up in all that was said before, and in reference
// texts; where the longest stretch of them is found, what came after it then is guessed to come
// now. Where not even two tokens are found, the model's own habits serve: after each token what it
// last preferred there ("token recycling": Luo et al. 2024, as a chain). What a constraint forces
// comes first of all.
//
// How far to trust a guess is learned from every token that comes, also from those that nobody
// checked a guess for, so a source that is wrong too often is known to be so, and known when it
// recovers, at no cost. Whether a guess is worth its row is the gate's question (gate.h).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "decode/chances.h"
#include "decode/drafter.h"
#include "decode/frozen_automaton.h"
#include "decode/suffix_automaton.h"
#include "kernels/kernels.h"
#include "maglio/generation.h"

namespace maglio {

using ReferenceText = std::shared_ptr<const FrozenAutomaton>;

// Copies are independent and share the references.
class Speculation final : public Drafter {
 public:
  static constexpr size_t kLongestDraft = 15;
  static constexpr size_t kLongestChain = 8;  // of recycled tokens

  explicit Speculation(const Kernels& kernels, std::vector<ReferenceText> references = {});

  // The history may be another than the last time; what it has in common with it is not read again.
  Draft propose(std::span<const TokenId> history,
                const Constraint* constraint,
                size_t max) override;
  void learn(TokenId token, std::span<const float> logits) override;
  void observe(std::span<const TokenId> committed, size_t n_checked) override;

  const SpeculationStats& stats() const { return stats_; }
  void reset_stats() { stats_ = {}; }

 private:
  // Guesses of one source; the first follows `match` tokens that agree.
  struct Proposal {
    DraftSource source = DraftSource::conversation;
    size_t match = 0;
    std::vector<TokenId> tokens;

    // Each guess that comes true is one more token that agrees; a habit looks back one token only.
    size_t match_at(size_t i) const { return source == DraftSource::recycled ? 1 : match + i; }
  };

  void read(std::span<const TokenId> history);
  Proposal look_up(size_t max) const;
  std::vector<TokenId> chain_from(TokenId token, size_t max) const;

  const Kernels* kernels_;
  SuffixAutomaton said_;
  std::vector<ReferenceText> references_;
  std::vector<FrozenAutomaton::Cursor> cursors_;  // one a reference
  std::unordered_map<TokenId, TokenId>
      preferred_;  // by the model, after each token that it was fed
  Chances chances_;
  Proposal proposal_;  // the last one
  SpeculationStats stats_;
};

}  // namespace maglio

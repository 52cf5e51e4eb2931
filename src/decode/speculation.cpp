#include "decode/speculation.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace maglio {
namespace {

// What followed a place of the text, at most max tokens. Text that runs into its own end is
// periodic and goes on in the same way.
std::vector<TokenId> continuation(std::span<const TokenId> text, size_t from, size_t max) {
  std::vector<TokenId> tokens;
  const size_t period = text.size() - from;
  for (size_t i = 0; i < max; ++i) tokens.push_back(text[from + i % period]);
  return tokens;
}

}  // namespace

Speculation::Speculation(const Kernels& kernels, std::vector<ReferenceText> references)
    : kernels_(&kernels), references_(std::move(references)) {
  for (const ReferenceText& text : references_) cursors_.emplace_back(*text);
}

Draft Speculation::propose(std::span<const TokenId> history,
                           const Constraint* constraint,
                           size_t max) {
  max = std::min(max, kLongestDraft);
  read(history);
  proposal_ = {};
  if (constraint != nullptr) proposal_ = {DraftSource::forced, 0, constraint->forced()};
  if (proposal_.tokens.empty()) proposal_ = look_up(max);
  auto& tokens = proposal_.tokens;
  if (tokens.size() > max) tokens.resize(max);
  if (constraint != nullptr) {
    tokens.resize(std::min(tokens.size(), constraint->allowed_prefix(tokens)));
  }

  Draft draft{tokens, {}};
  for (size_t i = 0; i < tokens.size(); ++i) {
    draft.chances.push_back(chances_.of(proposal_.source, proposal_.match_at(i)));
  }
  return draft;
}

// Brings automaton and cursors to the end of the history.
void Speculation::read(std::span<const TokenId> history) {
  const auto known = said_.text();
  if (known.size() > history.size() || !std::ranges::equal(known, history.first(known.size()))) {
    said_ = {};
    for (size_t i = 0; i < cursors_.size(); ++i)
      cursors_[i] = FrozenAutomaton::Cursor(*references_[i]);
  }
  for (TokenId token : history.subspan(said_.text().size())) {
    said_.append(token);
    for (auto& cursor : cursors_) cursor.append(token);
  }
}

// The longest match wins; of equal ones the conversation's, then the first reference's.
Speculation::Proposal Speculation::look_up(size_t max) const {
  TextMatch best = said_.earlier();
  DraftSource source = DraftSource::conversation;
  std::span<const TokenId> text = said_.text();
  for (size_t i = 0; i < cursors_.size(); ++i) {
    const TextMatch match = cursors_[i].match();
    if (match.length <= best.length) continue;
    best = match;
    source = DraftSource::reference;
    text = references_[i]->text();
  }
  if (best.length < 2) {
    auto chain = chain_from(said_.text().back(), std::min(max, kLongestChain));
    if (!chain.empty()) return {DraftSource::recycled, 1, std::move(chain)};
  }
  if (best.length == 0) return {};
  if (source == DraftSource::reference) max = std::min(max, text.size() - best.end);
  return {source, best.length, continuation(text, best.end, max)};
}

std::vector<TokenId> Speculation::chain_from(TokenId token, size_t max) const {
  std::vector<TokenId> chain;
  while (chain.size() < max) {
    const auto next = preferred_.find(token);
    if (next == preferred_.end()) break;
    token = next->second;
    chain.push_back(token);
  }
  return chain;
}

void Speculation::learn(TokenId token, std::span<const float> logits) {
  constexpr size_t kStretch = 512;  // the best logit's place is looked for in one of these alone
  float best = -std::numeric_limits<float>::infinity();
  std::span<const float> best_stretch;
  for (size_t from = 0; from < logits.size(); from += kStretch) {
    const auto stretch = logits.subspan(from, std::min(kStretch, logits.size() - from));
    const float highest = kernels_->rows.max(stretch.data(), stretch.size());
    if (highest > best) best = highest, best_stretch = stretch;
  }
  const auto at = std::ranges::find(best_stretch, best);
  if (at != best_stretch.end()) preferred_[token] = static_cast<TokenId>(&*at - logits.data());
}

void Speculation::observe(std::span<const TokenId> committed, size_t n_checked) {
  const Proposal proposal = std::exchange(proposal_, {});
  const auto& guesses = proposal.tokens;
  size_t n_right = 0;
  while (n_right < std::min(guesses.size(), committed.size())) {
    const bool came_true = guesses[n_right] == committed[n_right];
    chances_.learn(proposal.source, proposal.match_at(n_right), came_true);
    if (!came_true) break;
    ++n_right;
  }
  if (n_checked == 0) {
    ++stats_.plain_steps;
    stats_.gated_off += guesses.empty() ? 0 : 1;
    return;
  }
  const size_t n_accepted = std::min(n_right, n_checked);
  auto& source = stats_.sources[static_cast<size_t>(proposal.source)];
  ++stats_.verify_steps;
  source.drafted += n_checked;
  source.accepted += n_accepted;
  stats_.bonus += committed.size() > n_checked ? 1 : 0;
}

}  // namespace maglio

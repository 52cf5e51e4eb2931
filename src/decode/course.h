// A stream under way: what it wants of the next pass, and what it makes of the rows that come back.
//
// A pass is fed the tokens that the cache has not seen and, behind the last one, a drafter's
// guesses; a row of logits comes back for each guess more. The sampler reads the rows in order, as
// it would have read them one pass at a time, and goes on to the next for as long as it draws what
// was guessed. Then the cache forgets the rest: it holds what plain decoding would have put there,
// whatever has ended the row or the stream.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <span>
#include <utility>
#include <vector>

#include "decode/stream.h"
#include "maglio/error.h"
#include "model/pass.h"

namespace maglio {

// Borrows the stream.
template <LanguageModel Model>
class Course {
 public:
  // It is over at once when the tokens leave no room for another.
  explicit Course(Stream<Model>& stream)
      : stream_(&stream), n_cached_(stream.sequence.cache.length()) {
    const size_t n_tokens = tokens().size(), capacity = cache().capacity();
    if (n_tokens < capacity) {
      left_ = std::min(stream.max_tokens, capacity - n_tokens);
      return;
    }
    fail(std::make_exception_ptr(
        Error(ErrorKind::context_full, "ContextFull",
              fmt::format("the prompt has {} tokens, the context size is {} and holds at most {} "
                          "of them; shorten it or raise --ctx",
                          n_tokens, capacity, capacity - 1))));
  }

  bool is_over() const { return over_; }
  const Ending& ending() const { return ending_; }
  void fail(std::exception_ptr error) {
    ending_.error = std::move(error);
    over_ = true;
  }

  // Gets ready for the next pass: the tokens to feed, and a draft of what may come after them.
  // Nothing is guessed behind a prompt, whose rows nobody wants, and never so much that the token
  // after the guesses would be one too many.
  void prepare() {
    const auto unread = std::span<const TokenId>(tokens()).subspan(cache().length());
    n_known_ = stream_->on_prompt ? std::min(unread.size(), kRowsPerPass) : unread.size();
    n_left_unread_ = unread.size() - n_known_;
    fed_.assign(unread.begin(), unread.begin() + static_cast<std::ptrdiff_t>(n_known_));
    draft_ = {};
    const Sequence<Model>& s = stream_->sequence;
    if (s.drafter == nullptr || reads_prompt() || left_ < 2) return;
    draft_ = s.drafter->propose(s.tokens, s.constraint, left_ - 1);
  }
  bool reads_prompt() const { return n_known_ > 1; }
  const Draft& draft() const { return draft_; }

  // So many guesses of the draft are fed, too.
  void check_guesses(size_t n) {
    fed_.resize(n_known_);
    fed_.insert(fed_.end(), draft_.tokens.begin(),
                draft_.tokens.begin() + static_cast<std::ptrdiff_t>(n));
  }
  size_t n_guesses() const { return fed_.size() - n_known_; }
  Gate* gate() const { return stream_->sequence.gate; }

  SpanOf<CacheOf<Model>> span() const {
    const LogitRows rows = n_guesses() > 0 ? LogitRows::all : LogitRows::last;
    return {.cache = &cache(),
            .position = cache().length(),
            .ids = fed_,
            .logits = n_left_unread_ > 0 ? LogitRows::none : rows};
  }

  // Samples the rows of the span: one token, and another for each guess that has come true.
  void take(Logits rows) {
    if (!tell_of_prompt() || n_left_unread_ > 0) return;
    const size_t n_before = tokens().size();
    Drafter* const drafter = stream_->sequence.drafter;
    for (size_t i = 0; drafter != nullptr && i < rows.extent<Row>(); ++i) {
      drafter->learn(fed_[n_known_ - 1 + i], rows.select<Row>(i).span());
    }
    size_t row = 0;
    try {
      if (left_ == 0) end(FinishReason::length);  // it was only to be read
      while (!over_) {
        const TokenId next = sample(rows.select<Row>(row).span());
        if (over_ || row == n_guesses() || next != guess(row)) break;
        ++row;
      }
    } catch (...) {
      fail(std::current_exception());
    }
    cache().truncate(n_before + row);
    if (drafter != nullptr) {
      drafter->observe(std::span<const TokenId>(tokens()).subspan(n_before), n_guesses());
    }
  }

 private:
  std::vector<TokenId>& tokens() const { return stream_->sequence.tokens; }
  CacheOf<Model>& cache() const { return stream_->sequence.cache; }
  TokenId guess(size_t i) const { return fed_[n_known_ + i]; }

  // False when nobody wants more.
  bool tell_of_prompt() {
    if (!stream_->on_prompt || !reads_prompt()) return true;
    try {
      if (stream_->on_prompt(cache().length() - n_cached_, tokens().size() - n_cached_))
        return true;
      end(FinishReason::cancelled);
    } catch (...) {
      fail(std::current_exception());
    }
    return false;
  }

  TokenId sample(std::span<float> logits) {
    const Sequence<Model>& s = stream_->sequence;
    const TokenId next = s.sampler.next(logits, s.tokens, s.constraint);
    const Verdict verdict = stream_->on_token(next);
    if (verdict != Verdict::end_without) s.tokens.push_back(next);
    --left_;
    if (verdict == Verdict::cancel) {
      end(FinishReason::cancelled);
    } else if (verdict != Verdict::go_on) {
      end(FinishReason::stop);
    } else if (left_ == 0) {
      end(FinishReason::length);
    }
    return next;
  }

  void end(FinishReason finish) {
    ending_.finish = finish;
    over_ = true;
  }

  Stream<Model>* stream_;
  size_t n_cached_;           // tokens that the cache held when it began
  size_t n_left_unread_ = 0;  // tokens of a prompt that later passes will read
  size_t left_ = 0;           // tokens that may still come
  std::vector<TokenId> fed_;  // what the cache has not seen, then the guesses to be checked
  size_t n_known_ = 0;        // of fed_, without the guesses
  Draft draft_;
  bool over_ = false;
  Ending ending_;
};

}  // namespace maglio

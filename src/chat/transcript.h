// A sequence of tokens that remembers what it says, so that a later prompt finds its own words in
// it again.
//
// The ids that a model generated need not be those that encoding their text would give ("in"+"g"
// for "ing"). A template renders the whole history anew for each turn; compared id by id with the
// tokens that are there, it would part from them in the first such answer, and everything behind it
// would be computed again. So it is compared as text, run by run, a run being the text between two
// control tokens. Whole runs that say the same keep the ids that they have, whoever chose them;
// from the first run on that says something else, the prompt is encoded as usual.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/rendered.h"

namespace maglio::chat {

// Text that is encoded as one, and the control token that ends it.
struct Run {
  std::string text;
  std::optional<TokenId> marker = {};  // none: the end of the prompt
  bool operator==(const Run&) const = default;
};

// Cuts a prompt at its control tokens. A marker that text may be as well (<think>, in most
// vocabularies) ends no run, so that what a template wrote compares with what a model generated.
template <class TextTokenizer>
std::vector<Run> cut_into_runs(const TextTokenizer& tokenizer, const Rendered& rendered) {
  const auto control_token = [&](const Segment& segment) -> std::optional<TokenId> {
    if (segment.kind != Segment::Kind::marker) return std::nullopt;
    const std::optional<TokenId> id = tokenizer.token_id(segment.text);
    if (!id || tokenizer.is_eos(*id)) return id;
    const auto as_text =
        tokenizer.encode_with(segment.text, {.specials = Tokenizer::Specials::plain});
    return as_text == std::vector{*id} ? std::nullopt : id;
  };
  std::vector<Run> runs(1);
  for (const Segment& segment : rendered.segments()) {
    if (const auto id = control_token(segment)) {
      runs.back().marker = id;
      runs.emplace_back();
    } else {
      runs.back().text += segment.text;
    }
  }
  if (runs.back().text.empty()) runs.pop_back();
  return runs;
}

// Invariant: the runs tell the first told() tokens, one after the other. Nobody knows the text of
// tokens beyond them; only the last run may lack its marker.
class Transcript {
 public:
  struct HeldRun {
    Run run;
    size_t end;  // index of the token after the run and its marker
    bool operator==(const HeldRun&) const = default;
  };

  Transcript() = default;
  explicit Transcript(std::vector<TokenId> tokens) : tokens_(std::move(tokens)) {}
  // Requires: the invariant.
  Transcript(std::vector<TokenId> tokens, std::vector<HeldRun> runs)
      : tokens_(std::move(tokens)), runs_(std::move(runs)) {}

  const std::vector<TokenId>& tokens() const { return tokens_; }
  // For the loop, which appends an answer; tell_rest says then what it says.
  std::vector<TokenId>& tokens() { return tokens_; }
  const std::vector<HeldRun>& runs() const { return runs_; }
  size_t told() const { return runs_.empty() ? 0 : runs_.back().end; }

  // The tokens of another prompt: runs that are here at the same place keep their ids, the others
  // get those of encode(text) -> ids.
  template <class Encode>
  Transcript retold(std::span<const Run> prompt, Encode&& encode) const {
    size_t n = 0;
    while (n < prompt.size() && n < runs_.size() && says(runs_[n].run, prompt[n])) ++n;
    Transcript next;
    next.runs_.assign(runs_.begin(), runs_.begin() + static_cast<std::ptrdiff_t>(n));
    next.tokens_.assign(tokens_.begin(),
                        tokens_.begin() + static_cast<std::ptrdiff_t>(next.told()));
    if (n > 0 && !next.runs_.back().run.marker && prompt[n - 1].marker) {
      next.append({{"", prompt[n - 1].marker}}, encode);
    }
    next.append(prompt.subspan(n), encode);
    return next;
  }

  // More of a prompt, behind what is there. Where the last run is open, its text goes on.
  template <class Encode>
  void append(std::span<const Run> prompt, Encode&& encode) {
    for (const Run& run : prompt) {
      const bool known = told() == tokens_.size();
      if (!run.text.empty()) {
        const auto ids = encode(std::string_view(run.text));
        tokens_.insert(tokens_.end(), ids.begin(), ids.end());
      }
      if (run.marker) tokens_.push_back(*run.marker);
      if (known) tell(run);
    }
  }
  template <class Encode>
  void append(std::initializer_list<Run> prompt, Encode&& encode) {
    append(std::span(prompt.begin(), prompt.size()), encode);
  }

  // The tokens from `begin` to the end say this. Requires: they were appended by the loop.
  void tell_rest(size_t begin, std::string text);

  // Forgets the tokens from `keep` on, and the runs that reach beyond it.
  void truncate(size_t keep);

 private:
  // Does the run that is here say what the prompt's says? The last one may still lack its marker.
  static bool says(const Run& held, const Run& asked) {
    return held.text == asked.text && (!held.marker || held.marker == asked.marker);
  }
  void tell(const Run& run);

  std::vector<TokenId> tokens_;
  std::vector<HeldRun> runs_;
};

// Length of the longest common beginning.
size_t common_prefix(std::span<const TokenId> a, std::span<const TokenId> b);

}  // namespace maglio::chat

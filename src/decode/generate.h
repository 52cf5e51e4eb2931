// The one loop: feed what the cache has not seen, sample, ask what to do with the token, repeat
// (sections 12.5 and 12.6).
//
// The sequence of tokens is the truth and the cache follows it: whatever lies beyond the cache's
// length is fed before the next token is sampled. So prefill and decode are the same line, a
// conversation's next turn feeds only what is new, and the last token of an answer is not computed
// before somebody needs it.
//
// Guesses at what comes next ride along in the same pass (course.h), as many as pay (gate.h).
//
// Several sequences of one model take their steps together, in one pass that reads the weights once
// for all. Nothing else is shared: what each says, and what ends it, is what it would be alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "decode/course.h"
#include "decode/gate.h"
#include "decode/language_model.h"
#include "decode/sampler.h"
#include "decode/stream.h"
#include "maglio/error.h"

namespace maglio {

// Throws: as generate_together.
template <LanguageModel Model>
void check_streams(std::span<const Stream<Model>> streams) {
  if (streams.size() > 1 && !BatchLanguageModel<Model>) {
    throw Error(ErrorKind::unsupported, "BatchDecodeUnsupported",
                "this model computes one sequence at a time: decode the streams one by one");
  }
  for (size_t i = 1; i < streams.size(); ++i) {
    const Sequence<Model>& s = streams[i].sequence;
    if (&s.model != &streams[0].sequence.model) {
      throw Error(ErrorKind::bad_request, "MixedModels",
                  "streams of several models cannot share a pass: decode them apart");
    }
    for (const Stream<Model>& other : streams.first(i)) {
      const Sequence<Model>& o = other.sequence;
      if (&s.cache != &o.cache && &s.tokens != &o.tokens && &s.sampler != &o.sampler) continue;
      throw Error(ErrorKind::bad_request, "DuplicateStream",
                  "two streams share a cache, tokens or a sampler: give each its own");
    }
  }
}

// One pass for the courses, and what they sample from it. gate: nullptr, or who times it.
// Throws: what the model throws; no course has moved then.
template <LanguageModel Model>
void advance(Model& model, std::span<Course<Model>* const> courses, Gate* gate) {
  std::vector<SpanOf<CacheOf<Model>>> spans;
  for (const Course<Model>* course : courses) spans.push_back(course->span());
  if (gate != nullptr) gate->start();
  const Logits logits = forward<Model>(model, spans);
  if (gate != nullptr) gate->stop(logits.extent<Row>());
  size_t row = 0;
  for (size_t i = 0; i < courses.size(); ++i) {
    const size_t n_rows = wanted_rows(spans[i]);
    courses[i]->take(logits.narrow<Row>(row, n_rows));
    row += n_rows;
  }
}

// The same, with nobody else's tokens and without guesses: an error is the course's own.
template <LanguageModel Model>
void advance_alone(Model& model, Course<Model>* course, Gate* gate = nullptr) {
  course->check_guesses(0);
  try {
    advance<Model>(model, {&course, 1}, gate);
  } catch (...) {
    course->fail(std::current_exception());
  }
}

// Decides how much of each draft is checked, and returns who times the pass. One that also reads a
// prompt is full without guesses, and its time says nothing about others.
template <LanguageModel Model>
Gate* choose_guesses(std::span<Course<Model>* const> courses) {
  Gate* gate = nullptr;
  bool reads_prompt = false;
  std::vector<const Draft*> drafts;
  for (const Course<Model>* course : courses) {
    if (gate == nullptr) gate = course->gate();
    reads_prompt |= course->reads_prompt();
    drafts.push_back(&course->draft());
  }
  if (reads_prompt) return nullptr;
  const std::vector<size_t> chosen = gate != nullptr ? gate->choose(drafts) : std::vector<size_t>();
  for (size_t i = 0; i < courses.size(); ++i) {
    courses[i]->check_guesses(gate != nullptr ? chosen[i] : drafts[i]->tokens.size());
  }
  return gate;
}

// Who guesses asks the stream's constraint: an error of that is the course's own.
template <LanguageModel Model>
void prepare(Course<Model>* course) {
  try {
    course->prepare();
  } catch (...) {
    course->fail(std::current_exception());
  }
}

// One step of each course; they are prepared. A pass that fails does not say whose tokens were at
// fault, and they may be guesses, so it is computed again for one after the other.
template <LanguageModel Model>
void step(Model& model, std::span<Course<Model>* const> courses) {
  Gate* const gate = choose_guesses<Model>(courses);
  if (courses.size() == 1 && courses[0]->n_guesses() == 0) {
    return advance_alone(model, courses[0], gate);
  }
  try {
    advance<Model>(model, courses, gate);
  } catch (...) {
    for (Course<Model>* course : courses) advance_alone(model, course);
  }
}

// Extends every stream until it ends; entry i of the result is of streams[i]. A stream's tokens end
// before its context does, and with max_tokens 0 it is only read. An error ends the stream whose it
// is, the others go on; its sequence holds what was kept so far and can be continued.
// Requires: of each sequence tokens beyond its cache's length, at least one.
// Throws: Error unsupported "BatchDecodeUnsupported" for several streams of a model without a batch
// entry, bad_request "MixedModels" or "DuplicateStream"; nothing was done then.
template <LanguageModel Model>
std::vector<Ending> generate_together(std::span<Stream<Model>> streams) {
  check_streams<Model>(streams);
  std::vector<Course<Model>> courses(streams.begin(), streams.end());
  std::vector<Course<Model>*> going;
  for (Course<Model>& course : courses) going.push_back(&course);
  while (true) {
    const auto is_over = [](const Course<Model>* course) { return course->is_over(); };
    std::erase_if(going, is_over);
    for (Course<Model>* course : going) prepare(course);
    std::erase_if(going, is_over);
    if (going.empty()) break;
    step<Model>(streams[0].sequence.model, going);
  }
  std::vector<Ending> endings;
  for (const Course<Model>& course : courses) endings.push_back(course.ending());
  return endings;
}

// The same for one stream, whose error is thrown: Error context_full "ContextFull" when the tokens
// leave no room for another; what model, sampler and on_token throw.
template <LanguageModel Model>
FinishReason generate(Stream<Model> stream) {
  const Ending ending = generate_together<Model>({&stream, 1})[0];
  if (ending.error) std::rethrow_exception(ending.error);
  return ending.finish;
}

// Appends up to max_tokens sampled tokens to the sequence; on_token(TokenId) -> Verdict decides
// after each.
template <LanguageModel Model, class OnToken>
FinishReason generate(const Sequence<Model>& sequence, size_t max_tokens, OnToken&& on_token) {
  return generate(Stream<Model>{sequence, max_tokens, std::ref(on_token)});
}

// The chapter's Model.generate: greedy, at most min(max_new_tokens, room) ids, the stop token kept.
template <LanguageModel Model>
std::vector<TokenId> generate_greedy(Model& model,
                                     CacheOf<Model>& cache,
                                     std::span<const TokenId> prompt,
                                     size_t max_new_tokens,
                                     std::optional<TokenId> stop_token = std::nullopt) {
  Sampler greedy({}, model.kernels());
  std::vector<TokenId> tokens(prompt.begin(), prompt.end());
  generate(Sequence<Model>{model, cache, tokens, greedy}, max_new_tokens,
           [&](TokenId id) { return id == stop_token ? Verdict::end_with : Verdict::go_on; });
  return {tokens.begin() + static_cast<std::ptrdiff_t>(prompt.size()), tokens.end()};
}

}  // namespace maglio

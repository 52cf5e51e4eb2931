// One answer, from tokens to the client: a stream of the loop with text, stop strings, end tokens.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "decode/generate.h"
#include "decode/text_stream.h"
#include "maglio/generation.h"

namespace maglio {

struct AnswerRule {
  StopRule stop;
  size_t max_tokens = kNoLimit;
  PromptSink on_prompt = {};
};

// Borrows what the sequence does. The clock starts with it.
//
//   Answer answer(sequence, decoder, rule, is_end, sink);
//   Stream<Model> stream = answer.stream();        // for generate_together
//   Reply reply = answer.reply(ending.finish);     // once it has ended
template <LanguageModel Model, class Decoder>
class Answer {
 public:
  // is_end says which tokens end it; such a token, and the one that completes a stop string, are
  // not kept.
  Answer(const Sequence<Model>& sequence,
         Decoder decoder,
         const AnswerRule& rule,
         std::function<bool(TokenId)> is_end,
         TextSink sink)
      : sequence_(sequence),
        rule_(rule),
        is_end_(std::move(is_end)),
        sink_(std::move(sink)),
        text_(std::move(decoder), StopStrings(rule.stop.strings)) {
    reply_.prompt_tokens = sequence.tokens.size();
    reply_.cached_tokens = sequence.cache.length();
  }

  // Borrows this.
  Stream<Model> stream() {
    return {sequence_, rule_.max_tokens, [this](TokenId id) { return take(id); }, rule_.on_prompt};
  }

  // What was held back goes to the sink, and the answer is complete.
  Reply reply(FinishReason finish) {
    emit(text_.flush());
    // Others of a batch may have gone on since.
    const auto end = first_ ? last_ : Clock::now();
    reply_.finish = finish;
    reply_.stop_string = text_.matched();
    const auto& tokens = sequence_.tokens;
    reply_.ids.assign(tokens.begin() + static_cast<std::ptrdiff_t>(reply_.prompt_tokens),
                      tokens.end());
    reply_.prompt_ms = milliseconds(first_.value_or(end) - start_);
    reply_.generation_ms = milliseconds(end - first_.value_or(end));
    return std::move(reply_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  static double milliseconds(Clock::duration d) {
    return std::chrono::duration<double, std::milli>(d).count();
  }

  Verdict take(TokenId id) {
    last_ = Clock::now();
    if (!first_) first_ = last_;
    if (is_end_(id) && !rule_.stop.ignore_end_tokens) return Verdict::end_without;
    emit(text_.push(id));
    if (text_.matched()) return Verdict::end_without;
    return wanted_ ? Verdict::go_on : Verdict::cancel;
  }

  void emit(const std::string& text) {
    if (text.empty()) return;
    reply_.text += text;
    wanted_ = wanted_ && sink_(text);
  }

  Sequence<Model> sequence_;
  AnswerRule rule_;
  std::function<bool(TokenId)> is_end_;
  TextSink sink_;
  TextStream<Decoder> text_;
  bool wanted_ = true;
  Reply reply_;
  Clock::time_point start_ = Clock::now();
  std::optional<Clock::time_point> first_;  // when the first token was known, and the newest
  Clock::time_point last_;
};

// Extends the sequence by an answer and hands its text to the sink.
// Requires and throws: as generate.
template <LanguageModel Model, class Decoder>
Reply stream_answer(const Sequence<Model>& sequence,
                    Decoder decoder,
                    const AnswerRule& rule,
                    std::function<bool(TokenId)> is_end,
                    const TextSink& sink) {
  Answer<Model, Decoder> answer(sequence, std::move(decoder), rule, std::move(is_end), sink);
  return answer.reply(generate(answer.stream()));
}

}  // namespace maglio

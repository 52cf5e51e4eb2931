// One answer, from tokens to the client: the loop with text, stop strings and end tokens.
#pragma once

#include <chrono>
#include <cstddef>
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
};

// Extends the sequence by an answer and hands its text to the sink. is_end(TokenId) says which
// tokens end it; such a token, and the one that completes a stop string, are not kept.
// Requires and throws: as generate.
template <LanguageModel Model, class Decoder, class IsEnd>
Reply stream_answer(const Sequence<Model>& sequence,
                    Decoder decoder,
                    const AnswerRule& rule,
                    IsEnd&& is_end,
                    const TextSink& sink) {
  using Clock = std::chrono::steady_clock;
  const auto milliseconds = [](Clock::duration d) {
    return std::chrono::duration<double, std::milli>(d).count();
  };
  Reply reply;
  reply.prompt_tokens = sequence.tokens.size();
  reply.cached_tokens = sequence.cache.length();
  TextStream<Decoder> stream(std::move(decoder), StopStrings(rule.stop.strings));
  bool wanted = true;
  const auto emit = [&](const std::string& text) {
    if (text.empty()) return;
    reply.text += text;
    wanted = wanted && sink(text);
  };
  const auto start = Clock::now();
  std::optional<Clock::time_point> first;
  reply.finish = generate(sequence, rule.max_tokens, [&](TokenId id) {
    if (!first) first = Clock::now();
    if (is_end(id) && !rule.stop.ignore_end_tokens) return Verdict::end_without;
    emit(stream.push(id));
    if (stream.matched()) return Verdict::end_without;
    return wanted ? Verdict::go_on : Verdict::cancel;
  });
  emit(stream.flush());
  const auto end = Clock::now();
  reply.stop_string = stream.matched();
  reply.ids.assign(sequence.tokens.begin() + static_cast<std::ptrdiff_t>(reply.prompt_tokens),
                   sequence.tokens.end());
  reply.prompt_ms = milliseconds(first.value_or(end) - start);
  reply.generation_ms = milliseconds(end - first.value_or(end));
  return reply;
}

}  // namespace maglio

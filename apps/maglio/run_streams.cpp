#include "maglio/run_streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <exception>
#include <string>
#include <vector>

#include "decode/answer.h"
#include "decode/generate.h"
#include "decode/guesser.h"
#include "maglio/answer_json.h"
#include "maglio/batch.h"
#include "maglio/harmless.h"
#include "maglio/interrupt.h"
#include "maglio/read_text.h"
#include "maglio/terminal.h"
#include "model/kv_cache.h"
#include "model/model.h"

namespace maglio::app {
namespace {

// Nothing is shown before all have ended: pieces of several answers would mix.
const TextSink kUntilInterrupted = [](std::string_view) { return !InterruptGuard::interrupted(); };

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);  // of files from Windows
    lines.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<std::string> prompts_of(const RunFlags& flags) {
  if (flags.chat) return std::vector(*flags.streams, *flags.chat);
  if (flags.prompt) return std::vector(*flags.streams, *flags.prompt);
  const auto lines = lines_of(flags.prompt_file ? read_text(*flags.prompt_file) : read_stdin());
  if (lines.size() >= *flags.streams) return lines;
  throw Error(ErrorKind::bad_request, "TooFewPrompts",
              fmt::format("--streams {}: expected as many lines, one for each stream, found {}",
                          *flags.streams, lines.size()));
}

// What came of all streams so far.
struct Tally {
  size_t prompt_tokens = 0, later_tokens = 0;  // an answer's first token belongs to its prompt
  double prompt_ms = 0, generation_ms = 0;
  size_t n_failed = 0;

  // Of streams that ran together: all first tokens come from the same passes.
  void add(const std::vector<BatchOutcome>& outcomes, double together_ms) {
    double first_ms = 0;
    for (const BatchOutcome& outcome : outcomes) {
      n_failed += outcome.reply ? 0 : 1;
      if (!outcome.reply) continue;
      prompt_tokens += outcome.reply->computed_tokens();
      later_tokens += outcome.reply->ids.empty() ? 0 : outcome.reply->ids.size() - 1;
      first_ms = std::max(first_ms, outcome.reply->prompt_ms);
    }
    prompt_ms += first_ms;
    generation_ms += together_ms - first_ms;
  }

  std::string line(size_t n_streams) const {
    const auto rate = [](size_t n, double ms) {
      return ms > 0 ? static_cast<double>(n) * 1000 / ms : 0;
    };
    return fmt::format(
        "{} streams: {} prompt tokens at {:.1f} tokens/s, {} tokens at {:.1f} tokens/s", n_streams,
        prompt_tokens, rate(prompt_tokens, prompt_ms), later_tokens,
        rate(later_tokens, generation_ms));
  }
};

// One prompt, continued.
class Completion {
 public:
  Completion(const Session& session, const std::string& prompt, const SamplerConfig& config)
      : tokenizer_(session.model.tokenizer()),
        cache_(session.model.parts().transformer.new_cache(
            session.context_size(),
            session.flags.cache() == CacheFormat::f16 ? CacheType::f16 : CacheType::q8_0)),
        tokens_(session.encode_prompt(prompt)),
        sampler_(config, session.model.parts().transformer.kernels()),
        guesser_(guesser_of(session)),
        answer_(
            sequence(session.model.parts().transformer),
            StreamDecoder(tokenizer_),
            {{session.flags.stop, session.flags.ignore_eos}, session.flags.completion_limit()},
            [this](TokenId id) { return tokenizer_.is_eos(id); },
            kUntilInterrupted) {}
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  Stream<Transformer> stream() { return answer_.stream(); }
  Reply reply(FinishReason finish) {
    Reply reply = answer_.reply(finish);
    if (guesser_) reply.speculation = guesser_->drafter.stats();
    return reply;
  }

 private:
  static std::optional<Guesser> guesser_of(const Session& session) {
    return Guesser::from(session.speculation(), session.model.parts().transformer.kernels(),
                         [&](const auto& text) {
                           return session.model.tokenizer().encode_with(
                               text, {.specials = session.flags.prompt_specials()});
                         });
  }
  Sequence<Transformer> sequence(Transformer& model) {
    Sequence<Transformer> s{model, cache_, tokens_, sampler_};
    if (guesser_) s.drafter = &guesser_->drafter, s.gate = &guesser_->gate;
    return s;
  }

  const Tokenizer& tokenizer_;
  KvCache cache_;
  std::vector<TokenId> tokens_;
  Sampler sampler_;
  std::optional<Guesser> guesser_;
  Answer<Transformer, StreamDecoder> answer_;
};

std::vector<BatchOutcome> complete_together(const Session& session,
                                            std::span<const std::string> prompts,
                                            SamplerConfig config) {
  std::vector<BatchOutcome> outcomes(prompts.size());
  std::deque<Completion> completions;
  std::vector<size_t> outcome_of;  // of each completion: a prompt that is no prompt has none
  for (size_t i = 0; i < prompts.size(); ++i, ++config.seed) {
    try {
      completions.emplace_back(session, prompts[i], config);
      outcome_of.push_back(i);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::io) throw;  // not of this prompt, but of what all look up
      outcomes[i].error = std::current_exception();
    }
  }
  if (completions.empty()) return outcomes;
  std::vector<Stream<Transformer>> streams;
  for (Completion& completion : completions) streams.push_back(completion.stream());
  const std::vector<Ending> endings = generate_together<Transformer>(streams);
  for (size_t k = 0; k < endings.size(); ++k) {
    BatchOutcome& outcome = outcomes[outcome_of[k]];
    outcome.error = endings[k].error;
    if (!endings[k].error) outcome.reply = completions[k].reply(endings[k].finish);
  }
  return outcomes;
}

std::vector<BatchOutcome> answer_together(const Session& session,
                                          std::span<const std::string> questions,
                                          SamplerConfig config) {
  ConversationOptions options = session.conversation_options();
  options.sampler = config;
  std::vector<Conversation> conversations;
  for (size_t i = 0; i < questions.size(); ++i) {
    conversations.emplace_back(session.model, options);
    ++options.sampler.seed;
  }
  std::vector<BatchTurn> turns;
  for (size_t i = 0; i < questions.size(); ++i) {
    turns.push_back({&conversations[i], questions[i], kUntilInterrupted});
  }
  return send_batch(turns);
}

void print(const Session& session, const BatchOutcome& outcome, size_t stream_i, uint64_t seed) {
  if (outcome.reply) {
    const Reply& reply = *outcome.reply;
    const std::string text = is_terminal(stdout) ? harmless(reply.text) : reply.text;
    const std::string out =
        session.flags.json
            ? answer_json({reply, session.flags.stop, seed, session.load_ms, session.experts()})
            : text;
    const bool ends = out.ends_with('\n');
    fmt::print("{}{}", out, ends ? "" : "\n");
    return;
  }
  try {
    std::rethrow_exception(outcome.error);
  } catch (const Error& error) {
    remark(fmt::format("maglio: stream {}: {}", stream_i, error.message()));
    fmt::print("{}\n", session.flags.json ? error_json(error) : "");
  }
}

}  // namespace

void run_streams(const Session& session) {
  const RunFlags& flags = session.flags;
  const std::vector<std::string> prompts = prompts_of(flags);
  const SamplerConfig config =
      flags.is_completion() ? flags.sampling.resolve({}) : session.conversation_options().sampler;
  if (!config.is_greedy()) remark(fmt::format("seed {}", config.seed));
  const InterruptGuard guard;
  Tally tally;
  for (size_t i = 0; i < prompts.size() && !InterruptGuard::interrupted(); i += *flags.streams) {
    const size_t n = std::min(*flags.streams, prompts.size() - i);
    SamplerConfig own = config;
    own.seed += i;
    const auto group = std::span(prompts).subspan(i, n);
    const auto start = std::chrono::steady_clock::now();
    const auto outcomes = flags.is_completion() ? complete_together(session, group, own)
                                                : answer_together(session, group, own);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    tally.add(outcomes, took.count());
    for (size_t k = 0; k < n; ++k) print(session, outcomes[k], i + k, own.seed + k);
    std::fflush(stdout);
  }
  remark(tally.line(*flags.streams));
  if (tally.n_failed == 0) return;
  throw Error(
      ErrorKind::bad_request, "StreamsFailed",
      fmt::format("{} of {} streams failed, as said above", tally.n_failed, prompts.size()));
}

}  // namespace maglio::app

// maglio run: chat with a model, or complete a prompt.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "decode/answer.h"
#include "decode/guesser.h"
#include "maglio/answer_json.h"
#include "maglio/commands.h"
#include "maglio/expert_line.h"
#include "maglio/interrupt.h"
#include "maglio/oracles.h"
#include "maglio/prompt_note.h"
#include "maglio/read_text.h"
#include "maglio/repl/answer_printer.h"
#include "maglio/repl/repl.h"
#include "maglio/repl/timing_line.h"
#include "maglio/run_flags.h"
#include "maglio/run_streams.h"
#include "maglio/session.h"
#include "maglio/speculation_line.h"
#include "maglio/terminal.h"
#include "maglio/tokenize.h"
#include "model/kv_cache.h"
#include "model/model.h"

namespace maglio::app {
namespace {

// Runs `speak`, which hands an answer to the sink it is given, and prints what comes: as text, or
// as JSON at the end. tokens() are the prompt's while the answer begins.
template <class Speak, class Tokens>
void print_answer(const Session& session,
                  const SamplerConfig& sampler,
                  Speak&& speak,
                  Tokens&& tokens) {
  const RunFlags& flags = session.flags;
  const InterruptGuard guard;
  AnswerPrinter printer(answer_style(flags.hide_thinking),
                        [&] { return thought_start(session.model.tokenizer(), tokens()); });
  const Reply reply = speak([&](std::string_view piece) {
    return flags.json ? !InterruptGuard::interrupted() : printer.print(piece);
  });
  if (flags.json) {
    fmt::print("{}\n",
               answer_json({reply, flags.stop, sampler.seed, session.load_ms, session.experts()}));
  } else {
    printer.finish();
  }
  std::fflush(stdout);
  if (flags.shows_timings(/*chatting=*/false)) remark(timing_line(reply));
  if (reply.speculation) remark(speculation_line(*reply.speculation));
}

void announce_seed(const SamplerConfig& sampler) {
  if (!sampler.is_greedy()) remark(fmt::format("seed {}", sampler.seed));
}

void complete(const Session& session, std::vector<TokenId> tokens, size_t max_tokens) {
  const RunFlags& flags = session.flags;
  const SamplerConfig config = flags.sampling.resolve({});
  announce_seed(config);
  Transformer& model = session.model.parts().transformer;
  const Tokenizer& tokenizer = session.model.tokenizer();
  const CacheType type = flags.cache() == CacheFormat::f16 ? CacheType::f16 : CacheType::q8_0;
  KvCache cache = model.new_cache(session.context_size(), type);
  Sampler sampler(config, model.kernels());
  Sequence<Transformer> sequence{model, cache, tokens, sampler};
  auto guesser = Guesser::from(session.speculation(), model.kernels(), [&](const auto& text) {
    return tokenizer.encode_with(text, {.specials = flags.prompt_specials()});
  });
  if (guesser) sequence.drafter = &guesser->drafter, sequence.gate = &guesser->gate;
  print_answer(
      session, config,
      [&](const TextSink& sink) {
        Reply reply = stream_answer(
            sequence, StreamDecoder(tokenizer),
            {{flags.stop, flags.ignore_eos}, max_tokens, PromptNote::sink()},
            [&](TokenId id) { return tokenizer.is_eos(id); }, sink);
        if (guesser) reply.speculation = guesser->drafter.stats();
        return reply;
      },
      [&] { return std::span<const TokenId>(tokens); });
}

void answer_once(const Session& session, std::string_view question) {
  const ConversationOptions options = session.conversation_options();
  announce_seed(options.sampler);
  Conversation conversation(session.model, options);
  print_answer(
      session, options.sampler,
      [&](const TextSink& sink) { return conversation.send(question, sink); },
      [&] { return conversation.tokens(); });
}

// The question in the pipe, without the line feed that echo adds.
std::string question_from_pipe() {
  std::string text = read_stdin();
  if (text.ends_with('\n')) text.pop_back();
  if (text.empty()) {
    throw Error(ErrorKind::bad_request, "EmptyPrompt",
                "stdin holds no question: pipe one in, or use --chat");
  }
  return text;
}

void do_task(const Session& session) {
  const RunFlags& flags = session.flags;
  if (flags.has_oracle()) {
    const auto prompt = session.prompt_ids();
    run_oracles(session, prompt);
    if (!flags.gen || flags.verify_cache || flags.bench) return;
    return complete(session, prompt, flags.completion_limit());
  }
  if (flags.streams) return run_streams(session);
  if (flags.is_completion()) {
    return complete(session, session.prompt_ids(), flags.completion_limit());
  }
  if (flags.chat) return answer_once(session, *flags.chat);
  if (flags.repl || is_terminal(stdin)) return run_repl(session);
  answer_once(session, question_from_pipe());
}

// Keeps what a task has taught of a mixture's experts, however the task ends, and says where that
// cannot be.
class KeptExperts {
 public:
  explicit KeptExperts(const Model& model) : model_(model) {}
  ~KeptExperts() {
    const auto why_not = model_.keep_expert_history();
    if (!why_not) return;
    remark(
        fmt::format("{}: which experts this run used is forgotten, and the next one starts without "
                    "it; --no-expert-learning keeps nothing",
                    *why_not));
  }
  KeptExperts(const KeptExperts&) = delete;
  KeptExperts& operator=(const KeptExperts&) = delete;

 private:
  const Model& model_;
};

void run(const RunFlags& flags) {
  set_colour(flags.colour());
  if (flags.tokenize_file) {
    return print_token_ids(
        flags.model, *flags.tokenize_file,
        {flags.prompt_specials(), Tokenizer::Frame::by_policy, flags.normalization()});
  }
  const Session session = open_session(flags);
  const KeptExperts kept(session.model);
  do_task(session);
  if (const auto experts = session.experts()) remark(expert_line(*experts));
}

}  // namespace

void add_run_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("run", "Chat with a model, or complete a prompt");
  command->footer(
      "Without a task, a terminal gets a chat and a pipe gets one answer to all of its text (a "
      "line "
      "feed at its end is dropped). Answers go to stdout, everything else to stderr. Every flag "
      "can "
      "be set in the environment: --top-k as MAGLIO_TOP_K. MAGLIO_ISA=scalar|avx2|... forces an "
      "instruction set.");
  const auto flags = std::make_shared<RunFlags>();
  flags->add_to(*command);
  command->callback([flags] {
    flags->check();
    flags->settle();
    if (flags->storage.fit && !flags->tokenize_file) remark(flags->fit_to_memory());
    run(*flags);
  });
}

}  // namespace maglio::app

#include "maglio/run_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>

#include "maglio/error.h"
#include "maglio/escapes.h"
#include "maglio/memory_report.h"
#include "maglio/number_checks.h"
#include "maglio/read_text.h"

namespace maglio::app {
namespace {

void add_tasks(CLI::App& command, RunFlags& f) {
  const std::string group = "What to do (default: chat at a terminal, answer the pipe otherwise)";
  command.add_option("--chat", f.chat, "Answer TEXT as one chat turn")->group(group);
  command.add_option("-p,--prompt", f.prompt, "Continue TEXT, without a chat template")
      ->group(group);
  command.add_option("-f,--prompt-file", f.prompt_file, "The same from FILE, as it is; - is stdin")
      ->group(group);
  command.add_option("--prompt-ids", f.prompt_ids, "The same from token ids: 1,2,3")->group(group);
  command.add_flag("--repl,--cnv,--conversation", f.repl, "Chat, turn by turn")->group(group);
  command.add_flag("--single-turn,--st", f.single_turn, "Leave the chat after one answer")
      ->group(group);
  command.add_option("-n,--gen", f.gen, "Tokens to append to a prompt; -1: fill the context [128]")
      ->check(whole_number(-1))
      ->group(group);
  command.add_flag("--ignore-eos", f.ignore_eos, "Run on through end tokens")->group(group);
  command.add_flag("--json", f.json, "Print one JSON object instead of text")->group(group);
  command
      .add_flag("-e,--escape", f.escape,
                "Read \\n \\t \\r \\\\ \\' \\\" \\xHH in --chat, --prompt, --system and --stop")
      ->group(group);
}

void add_chat(CLI::App& command, RunFlags& f) {
  const std::string group = "Chat";
  command
      .add_option("--system,--sys", f.system,
                  "System message; '' for none [the chat template's own]")
      ->group(group);
  command
      .add_option("--system-file,--sysf,--system-prompt-file", f.system_file, "The same from FILE")
      ->group(group);
  command.add_flag("--no-think", f.no_think, "Skip the reasoning before the answer")->group(group);
  command
      .add_option("--max-tokens", f.max_tokens,
                  "Tokens of an answer; -1: until the context ends [-1]")
      ->check(whole_number(-1))
      ->group(group);
  command
      .add_option("-r,--stop,--reverse-prompt", f.stop, "End before this text; may be given again")
      ->take_all()
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--chat-template", f.chat_template, "native, file (the model's own), or a path")
      ->capture_default_str()
      ->group(group);
  command
      .add_flag("--parse-special", f.parse_special,
                "Read the names of control tokens as control tokens in what a user says, too")
      ->group(group);
  command.add_flag("--no-parse-special", f.no_parse_special, "Read them as text in prompts, too")
      ->group(group);
  command.add_option("--normalize", f.normalize, "none, or nfc: compose characters first")
      ->check(CLI::IsMember({"none", "nfc"}))
      ->capture_default_str()
      ->group(group);
}

void add_screen(CLI::App& command, RunFlags& f) {
  const std::string group = "Screen";
  command
      .add_option("--color,--co", f.color,
                  "auto, on or off; auto: on a terminal, unless NO_COLOR is set")
      ->check(CLI::IsMember({"auto", "on", "off"}))
      ->capture_default_str()
      ->group(group);
  command
      .add_flag("--hide-thinking,--hidethinking", f.hide_thinking,
                "Leave out the thought (<think>...</think>) before an answer")
      ->group(group);
  command
      .add_flag("--verbose", f.verbose,
                "Say on stderr how many tokens an answer took and how long [in a chat at a "
                "terminal]")
      ->group(group);
  command.add_flag("--no-timings", f.no_timings, "Say it not even there")->group(group);
  command
      .add_option("--history", f.history,
                  "File that keeps what was typed; '' for none [maglio/history in $XDG_STATE_HOME, "
                  "else ~/.local/state]")
      ->group(group);
}

void add_engine(CLI::App& command, RunFlags& f) {
  const std::string group = "Engine";
  command.add_option("-t,--threads", f.load.n_threads, "Threads [one per physical core allowed]")
      ->check(whole_number(0, 1024))
      ->group(group);
  command
      .add_option("-c,--ctx,--ctx-size", f.context_size, "Context size in tokens [the model's own]")
      ->check(whole_number(0, int64_t{1} << 32))
      ->group(group);
  command.add_option("--cache-type", f.cache_type, "f16, or q8_0: half the memory [f16]")
      ->check(CLI::IsMember({"f16", "q8_0"}))
      ->group(group);
  f.storage.add_to(command, group,
                   "Choose what is not given of --ctx, --cache-type, --experts and --no-repack by "
                   "the memory that is available, and say it on stderr (maglio info shows the "
                   "choices)");
  command
      .add_option("--streams", f.streams,
                  "Decode N prompts together: line i of --prompt-file, or of the questions in the "
                  "pipe, is stream i with seed + i; --prompt and --chat are every stream's")
      ->check(whole_number(1, 1024))
      ->group(group);
  command
      .add_option("--attn-window", f.load.attn_window,
                  "Tokens that attention looks back; 0: all [0]")
      ->check(whole_number(0))
      ->group(group);
  command
      .add_flag("--speculate", f.speculate,
                "Guess ahead from what was said and check several tokens in one pass: the same "
                "text, sooner where it quotes")
      ->group(group);
  command
      .add_option("--spec-reference", f.spec_references,
                  "A text that answers may quote, for --speculate, which it turns on; may be given "
                  "again")
      ->take_all()
      ->allow_extra_args(false)
      ->group(group);
}

void add_oracles(CLI::App& command, RunFlags& f) {
  const std::string group = "Oracles";
  command.add_option("--tokenize", f.tokenize_file, "Print the ids of FILE, one a line")
      ->group(group);
  command
      .add_option("--logits-out", f.logits_out,
                  "Write the logits after the last prompt token, raw little-endian float32; "
                  "generates nothing unless --gen is given")
      ->group(group);
  command
      .add_option("--compare-logits", f.compare_logits,
                  "Compare those logits with the ones in FILE")
      ->group(group);
  command
      .add_option("--verify-cache", f.verify_cache,
                  "Compare N tokens with and without the cache, bit for bit")
      ->check(whole_number(1, 1 << 20))
      ->group(group);
  command
      .add_option("--bench", f.bench, "Time the prompt and --gen tokens, best and mean of R runs")
      ->check(whole_number(1, 10000))
      ->group(group);
}

}  // namespace

void RunFlags::add_to(CLI::App& command) {
  command.add_option("MODEL", model, "Model file (GGUF; of a split set, any part)")->required();
  add_tasks(command, *this);
  sampling.add_to(command);
  add_chat(command, *this);
  add_screen(command, *this);
  add_engine(command, *this);
  add_oracles(command, *this);
}

void RunFlags::check() const {
  const int tasks = chat.has_value() + prompt.has_value() + prompt_file.has_value() +
                    prompt_ids.has_value() + tokenize_file.has_value() + repl;
  if (tasks > 1) {
    throw CLI::ValidationError(
        "--chat, --prompt, --prompt-file, --prompt-ids, --tokenize and --repl exclude each other");
  }
  if (has_oracle() && !is_completion() && !chat) {
    throw CLI::ValidationError(
        "an oracle needs a prompt: add --prompt, --prompt-file, "
        "--prompt-ids or --chat");
  }
  if (parse_special && no_parse_special) {
    throw CLI::ValidationError("--parse-special and --no-parse-special exclude each other");
  }
  if (system && system_file) {
    throw CLI::ValidationError("--system and --system-file exclude each other");
  }
  if (verbose && no_timings) {
    throw CLI::ValidationError("--verbose and --no-timings exclude each other");
  }
  if (streams && (repl || prompt_ids || has_oracle())) {
    throw CLI::ValidationError(
        "--streams takes --prompt-file, --prompt, --chat or questions from the pipe, and no "
        "oracle");
  }
  storage.check();
  if (json && repl) throw CLI::ValidationError("--json and --repl exclude each other");
}

void RunFlags::settle() {
  if (system_file) system = read_text(*system_file);
  if (!escape) return;
  for (auto* text : {&chat, &prompt, &system}) {
    if (*text && (text != &system || !system_file)) *text = with_escapes_read(**text);
  }
  for (std::string& text : stop) text = with_escapes_read(text);
}

Colour RunFlags::colour() const {
  if (color == "auto") return Colour::automatic;
  return color == "on" ? Colour::on : Colour::off;
}

size_t RunFlags::completion_limit() const {
  constexpr size_t kDefaultGen = 128;
  if (gen) return *gen < 0 ? std::numeric_limits<size_t>::max() : static_cast<size_t>(*gen);
  return logits_out || compare_logits ? 0 : kDefaultGen;
}

LoadOptions RunFlags::load_options() const {
  LoadOptions options = load;
  storage.put_into(options);
  return options;
}

std::string RunFlags::fit_to_memory() {
  MemoryWishes wishes{.n_sequences = streams.value_or(1)};
  if (cache_type) wishes.cache = *cache_type == "q8_0" ? CacheType::q8_0 : CacheType::f16;
  if (context_size > 0) wishes.context = context_size;
  const Fitted fitted = fit_model(model, wishes, load_options());
  context_size = fitted.plan.context;
  cache_type = cache_name(fitted.plan.cache);
  storage.adopt(fitted);
  return fitted.note + storage.unused_note();
}

CacheFormat RunFlags::cache() const {
  return cache_type == "q8_0" ? CacheFormat::q8_0 : CacheFormat::f16;
}

Tokenizer::Normalization RunFlags::normalization() const {
  return normalize == "nfc" ? Tokenizer::Normalization::nfc : Tokenizer::Normalization::none;
}

Tokenizer::Specials RunFlags::prompt_specials() const {
  return no_parse_special ? Tokenizer::Specials::plain : Tokenizer::Specials::parse;
}

Tokenizer::Specials RunFlags::chat_specials() const {
  return parse_special ? Tokenizer::Specials::parse : Tokenizer::Specials::plain;
}

}  // namespace maglio::app

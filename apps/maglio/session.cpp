#include "maglio/session.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>

#include "chat/chat_template.h"
#include "chat/history.h"
#include "chat/model_template.h"
#include "chat/sampler_defaults.h"
#include "gguf/reader.h"
#include "maglio/loading_note.h"
#include "maglio/prompt_note.h"
#include "maglio/read_text.h"
#include "maglio/terminal.h"
#include "model/model.h"

namespace maglio::app {
namespace {

std::vector<TokenId> parse_ids(std::string_view text) {
  std::vector<TokenId> ids;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    while (at != end && (*at == ' ' || *at == '\n')) ++at;
    TokenId id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    if (error != std::errc() || (next != end && *next != ',')) {
      throw Error(ErrorKind::bad_request, "BadTokenIds",
                  fmt::format("--prompt-ids: expected numbers between commas, found '{}'", text));
    }
    ids.push_back(id);
    if (next == end) return ids;
    at = next + 1;
  }
}

std::optional<size_t> token_limit(std::optional<int64_t> n) {
  if (!n || *n < 0) return std::nullopt;
  return static_cast<size_t>(*n);
}

std::vector<TokenId> rendered_chat(const Session& session) {
  const RunFlags& flags = session.flags;
  const auto chat_template = chat::ChatTemplate::of(session.model, flags.chat_template);
  const auto prompt = chat_template.render(chat::request_for(
      {{Role::user, *flags.chat}}, flags.system, flags.thinking(), chat_template));
  return chat::encode_prompt(session.model.tokenizer(), chat_template, prompt,
                             flags.chat_specials(), flags.normalization());
}

}  // namespace

size_t Session::context_size() const {
  return context_size_of(model, flags.context_size);
}

std::optional<ExpertCacheStats> Session::experts() const {
  return model.parts().transformer.expert_cache_stats();
}

ConversationOptions Session::conversation_options() const {
  return {.chat_template = flags.chat_template,
          .system = flags.system,
          .sampler = flags.sampling.resolve(chat_defaults),
          .stop = {.strings = flags.stop, .ignore_end_tokens = flags.ignore_eos},
          .thinking = flags.thinking(),
          .context_size = flags.context_size,
          .cache = flags.cache(),
          .max_tokens = token_limit(flags.max_tokens),
          .speculation = speculation(),
          .user_specials = flags.chat_specials(),
          .normalization = flags.normalization(),
          .on_prompt = PromptNote::sink()};
}

SpeculationOptions Session::speculation() const {
  SpeculationOptions options{.enabled = flags.speculate || !flags.spec_references.empty()};
  for (const std::string& path : flags.spec_references) {
    options.references.push_back(read_text(path));
  }
  return options;
}

std::vector<TokenId> Session::prompt_ids() const {
  if (flags.chat) return rendered_chat(*this);
  if (flags.prompt_ids) return parse_ids(*flags.prompt_ids);
  return encode_prompt(flags.prompt ? *flags.prompt : read_text(*flags.prompt_file));
}

std::vector<TokenId> Session::encode_prompt(std::string_view text) const {
  auto ids = model.tokenizer().encode_with(text, {.specials = flags.prompt_specials(),
                                                  .frame = Tokenizer::Frame::by_policy,
                                                  .normalization = flags.normalization()});
  if (ids.empty()) {
    throw Error(ErrorKind::bad_request, "EmptyPrompt",
                "the prompt has no tokens, expected at least one");
  }
  return ids;
}

Session open_session(const RunFlags& flags) {
  const auto start = std::chrono::steady_clock::now();
  const SamplerConfig defaults =
      chat::sampler_defaults(gguf::File::open(flags.model).metadata(), flags.thinking());
  LoadOptions options = flags.load_options();
  std::optional<LoadingNote> note(flags.model);
  options.on_progress = [&note](uint64_t done, uint64_t all) { note->tell(done, all); };
  Session session{flags, Model::load(flags.model, options), defaults};
  session.load_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  note.reset();
  for (const std::string& text : session.model.info().load_notes) remark(text);
  if (const auto guessed = session.model.tokenizer().pre_mismatch()) {
    to_stderr(fmt::format(
        "maglio: warning: the pre-tokenizer '{}' is unknown, qwen2's rules are used: token "
        "ids may differ from the model's own\n",
        *guessed));
  }
  return session;
}

}  // namespace maglio::app

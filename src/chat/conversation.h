// A conversation over any language model and any tokenizer (section 12.7).
//
// It owns the cache, the history and the sampler. The history is kept twice: as messages, which a
// template renders anew for each turn, and as the tokens that the model has seen (transcript.h). A
// turn computes only what follows the first difference between the two, so a conversation never
// computes its past twice, and templates may leave old thoughts out.
//
// Somebody who keeps the history himself sends rendered prompts or ids instead; the messages are
// then unknown, and send refuses until clear().
#pragma once

#include <algorithm>
#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/cache_traits.h"
#include "chat/chat_template.h"
#include "chat/history.h"
#include "chat/thought.h"
#include "chat/transcript.h"
#include "decode/answer.h"
#include "decode/guesser.h"
#include "maglio/conversation.h"

namespace maglio::chat {

inline StreamDecoder stream_decoder(const Tokenizer& tokenizer) {
  return StreamDecoder(tokenizer);
}

// What a conversation asks of a tokenizer.
template <class T>
concept TextTokenizer = requires(const T& tokenizer, std::string_view text, TokenId id) {
  { tokenizer.encode_with(text, Tokenizer::EncodeOptions{}) } -> std::same_as<std::vector<TokenId>>;
  { tokenizer.token_id(text) } -> std::same_as<std::optional<TokenId>>;
  { tokenizer.bos_id() } -> std::same_as<std::optional<TokenId>>;
  { tokenizer.adds_bos() } -> std::same_as<bool>;
  { tokenizer.is_eos(id) } -> std::same_as<bool>;
  stream_decoder(tokenizer);
};

struct Settings {
  ChatTemplate chat_template;
  ConversationOptions options;  // context_size 0 is not resolved here: give the capacity
  CacheType cache_type = CacheType::f16;
};

// Borrows model and tokenizer for its lifetime. Not thread-safe.
// Invariant: the cache holds a prefix of tokens().
template <LanguageModel Model, TextTokenizer Text>
class Conversation {
 public:
  using Cache = CacheOf<Model>;

  // What it takes to go on elsewhere: the cache holds a prefix of the tokens.
  struct Warm {
    Cache cache;
    std::vector<TokenId> tokens;
  };

  // Throws: Error bad_request for a sampler setting out of range.
  Conversation(Model& model, const Text& tokenizer, Settings settings)
      : model_(&model),
        tokenizer_(&tokenizer),
        settings_(std::move(settings)),
        cache_(model.new_cache(options().context_size, settings_.cache_type)),
        sampler_(options().sampler, model.kernels()),
        guesser_(Guesser::from(options().speculation, model.kernels(), encoder())),
        stop_marker_(tokenizer.token_id(settings_.chat_template.stop_marker())) {}

  // Says `user` and hands the answer to the sink as it comes.
  // Throws: Error context_full "ContextFull" when the turn does not fit, bad_request
  // "UnknownHistory" after prompts that were rendered elsewhere, and what rendering and encoding
  // throw: the conversation is then as it was before. Errors of model, sampler and sink leave the
  // history as it was; what had been computed of the turn is forgotten.
  Reply send(std::string_view user, const TextSink& sink, Constraint* constraint = nullptr) {
    return answer(plan(with_question(user)), sink, constraint);
  }

  // Drops the last answer and gives another. Requires: has_answer().
  Reply regenerate(const TextSink& sink, Constraint* constraint = nullptr) {
    if (!messages_) return answer(last_prompt(), sink, constraint);
    std::vector<Message> history = *messages_;
    drop_last_answer(history);
    return answer(plan(std::move(history)), sink, constraint);
  }
  bool has_answer() const { return messages_ ? ends_with_answer(*messages_) : answer_begin_ > 0; }

  // A turn that somebody else has rendered, behind what was said so far.
  Reply send_rendered(const Rendered& turn,
                      const TextSink& sink,
                      Constraint* constraint = nullptr) {
    Plan next{.prompt = transcript_};
    auto runs = cut_into_runs(*tokenizer_, turn);
    if (transcript_.tokens().empty()) open_with_bos(runs);
    next.prompt.append(runs, encoder());
    next.thinks = opens_thought(turn.text());
    return answer(checked(std::move(next)), sink, constraint);
  }

  // A whole history that somebody else has rendered: what it has in common with the tokens that are
  // here is not computed again.
  Reply send_rendered_reuse(const Rendered& prompt,
                            const TextSink& sink,
                            Constraint* constraint = nullptr) {
    return answer(checked({.prompt = retold(prompt)}), sink, constraint);
  }

  // The same with ids. Throws: Error bad_request "EmptyPrompt".
  Reply send_tokens_reuse(std::span<const TokenId> prompt,
                          const TextSink& sink,
                          Constraint* constraint = nullptr) {
    if (prompt.empty()) {
      throw Error(ErrorKind::bad_request, "EmptyPrompt",
                  "the prompt has no tokens, expected at least one");
    }
    return answer(checked({.prompt = Transcript({prompt.begin(), prompt.end()})}), sink,
                  constraint);
  }

  // Forgets the last question and what followed it. False: there was none, or nobody knows it.
  bool undo_turn() {
    if (!messages_) return false;
    std::vector<Message> history = *messages_;
    if (!drop_last_turn(history)) return false;
    const size_t keep =
        history.empty() ? 0 : common_prefix(tokens(), retold(render(history)).tokens());
    messages_ = std::move(history);
    forget_from(keep);
    return true;
  }

  // Forgets every turn; the sampler goes on where it was.
  void clear() {
    forget_from(0);
    messages_.emplace();
  }

  // A second conversation with the same past. What the cache shares with its copy is the cache's
  // business: a KvCache shares all pages until one of the two writes to them.
  Conversation fork() const
    requires ForkableCache<Cache>
  {
    return Conversation(*this, cache_.fork());
  }

  // Starts from a cache and the tokens that it holds a prefix of, instead of from nothing: a prompt
  // that begins with them computes only the rest. Messages are forgotten.
  // Throws: Error bad_request "MismatchedKvCaches" for a cache of another type, shape or capacity,
  // "InvalidPrefix" for one that is longer than the tokens; the conversation is as it was.
  void init_warm(Warm warm) {
    check_alike(cache_, warm.cache);
    if (warm.cache.length() > warm.tokens.size()) {
      throw Error(ErrorKind::bad_request, "InvalidPrefix",
                  fmt::format("the cache holds {} positions, but only {} tokens come with it",
                              warm.cache.length(), warm.tokens.size()));
    }
    clear();
    cache_ = std::move(warm.cache);
    transcript_ = Transcript(std::move(warm.tokens));
  }

  // Gives cache and tokens away; the conversation begins anew.
  Warm take_cache() {
    Warm warm{std::move(cache_), std::move(transcript_.tokens())};
    cache_ = model_->new_cache(options().context_size, settings_.cache_type);
    transcript_ = {};
    clear();
    return warm;
  }

  // Everything said so far, template included.
  std::span<const TokenId> tokens() const { return transcript_.tokens(); }
  // Without the system message; nothing where prompts were rendered elsewhere.
  std::span<const Message> messages() const {
    return messages_ ? std::span<const Message>(*messages_) : std::span<const Message>();
  }
  const Cache& cache() const { return cache_; }
  const ConversationOptions& options() const { return settings_.options; }
  // Of the last turn: tokens that were there already, and the stop string that ended the answer.
  size_t reused_prefix() const { return reused_; }
  std::optional<size_t> fired_stop() const { return fired_stop_; }

  void set_system(std::optional<std::string> text) { settings_.options.system = std::move(text); }
  void set_thinking(Thinking thinking) { settings_.options.thinking = thinking; }
  void set_stop(StopRule stop) { settings_.options.stop = std::move(stop); }
  void set_max_tokens(std::optional<size_t> n) { settings_.options.max_tokens = n; }
  // Throws: Error bad_request "BadSamplerConfig"; nothing has changed then.
  void set_sampler(const SamplerConfig& config) {
    sampler_ = Sampler(config, model_->kernels());
    settings_.options.sampler = config;
  }

 private:
  // A turn that fits, before anything of it has happened.
  struct Plan {
    Transcript prompt;
    std::optional<std::vector<Message>> history = {};  // before the answer; nothing: unknown
    bool thinks = false;                               // the prompt has opened a thought
    size_t dropped_messages = 0;
  };

  Conversation(const Conversation& other, Cache cache)
      : model_(other.model_),
        tokenizer_(other.tokenizer_),
        settings_(other.settings_),
        cache_(std::move(cache)),
        sampler_(other.sampler_),
        guesser_(other.guesser_),
        stop_marker_(other.stop_marker_),
        messages_(other.messages_),
        transcript_(other.transcript_),
        answer_begin_(other.answer_begin_),
        reused_(other.reused_),
        fired_stop_(other.fired_stop_) {}

  std::vector<Message> with_question(std::string_view user) const {
    if (!messages_) {
      throw Error(ErrorKind::bad_request, "UnknownHistory",
                  "this conversation was led by prompts rendered elsewhere, so its messages are "
                  "unknown: go on like that, or clear() it");
    }
    std::vector<Message> history = *messages_;
    history.push_back({Role::user, std::string(user)});
    return history;
  }

  // Throws: Error "ContextFull", unless the oldest turns may go.
  Plan plan(std::vector<Message> history) const {
    for (size_t n_dropped = 0;;) {
      const Rendered rendered = render(history);
      Plan turn{retold(rendered), std::move(history), opens_thought(rendered.text()), n_dropped};
      if (options().overflow == Overflow::refuse || leaves_room(turn.prompt)) {
        return checked(std::move(turn));
      }
      const size_t n_oldest = drop_oldest_turn(*turn.history);
      if (n_oldest == 0) return checked(std::move(turn));
      n_dropped += n_oldest;
      history = *std::move(turn.history);
    }
  }

  Rendered render(const std::vector<Message>& history) const {
    return settings_.chat_template.render(
        request_for(history, options().system, options().thinking, settings_.chat_template));
  }

  bool leaves_room(const Transcript& prompt) const {
    const size_t answer = std::min(options().max_tokens.value_or(kNoLimit), cache_.capacity() / 4);
    return prompt.tokens().size() + std::max<size_t>(answer, 1) <= cache_.capacity();
  }

  Plan checked(Plan turn) const {
    if (turn.prompt.tokens().size() < cache_.capacity()) return turn;
    throw Error(ErrorKind::context_full, "ContextFull",
                fmt::format("this turn needs {} tokens with the conversation before it, the "
                            "context size is {}: start anew, or raise --ctx",
                            turn.prompt.tokens().size(), cache_.capacity()));
  }

  Transcript retold(const Rendered& prompt) const {
    auto runs = cut_into_runs(*tokenizer_, prompt);
    open_with_bos(runs);
    return transcript_.retold(runs, encoder());
  }

  // BOS comes first where template or tokenizer want it and the prompt does not have it.
  void open_with_bos(std::vector<Run>& runs) const {
    const std::optional<TokenId> bos = tokenizer_->bos_id();
    if (!bos || !(tokenizer_->adds_bos() || settings_.chat_template.opens_with_bos())) return;
    const Run opening{"", bos};
    if (runs.empty() || runs.front() != opening) runs.insert(runs.begin(), opening);
  }

  auto encoder() const {
    return [this](std::string_view text) {
      return tokenizer_->encode_with(
          text, {.specials = options().user_specials, .normalization = options().normalization});
    };
  }

  // The prompt of the last answer, where nobody knows its messages.
  Plan last_prompt() const {
    Plan turn{.prompt = transcript_};
    turn.prompt.truncate(answer_begin_);
    return turn;
  }

  Reply answer(Plan turn, const TextSink& sink, Constraint* constraint) {
    begin(turn);
    try {
      const AnswerRule rule{{options().stop.strings}, options().max_tokens.value_or(kNoLimit)};
      Reply reply = stream_answer(
          sequence(constraint), stream_decoder(*tokenizer_), rule,
          [this](TokenId id) { return ends_turn(id); }, sink);
      end(std::move(turn), reply);
      return reply;
    } catch (...) {
      forget_from(reused_);
      throw;
    }
  }

  Sequence<Model> sequence(Constraint* constraint) {
    Sequence<Model> s{*model_, cache_, transcript_.tokens(), sampler_, constraint};
    if (guesser_) {
      guesser_->drafter.reset_stats();
      s.drafter = &guesser_->drafter;
      s.gate = &guesser_->gate;
    }
    return s;
  }

  // The prompt becomes what is said; the cache keeps what it has of it, but for the last token,
  // which is computed again for its logits.
  void begin(Plan& turn) {
    const size_t common = common_prefix(transcript_.tokens(), turn.prompt.tokens());
    reused_ = std::min({common, cache_.length(), turn.prompt.tokens().size() - 1});
    cache_.truncate(reused_);
    transcript_ = std::move(turn.prompt);
    answer_begin_ = transcript_.tokens().size();
    fired_stop_.reset();
  }

  void end(Plan turn, Reply& reply) {
    transcript_.tell_rest(answer_begin_, text_of(reply.ids));
    fired_stop_ = reply.stop_string;
    reply.dropped_messages = turn.dropped_messages;
    if (guesser_) reply.speculation = guesser_->drafter.stats();
    messages_ = std::move(turn.history);
    if (messages_) messages_->push_back(answer_message(reply.text, turn.thinks));
  }

  void forget_from(size_t keep) {
    transcript_.truncate(keep);
    cache_.truncate(keep);
    reused_ = std::min(reused_, keep);
    answer_begin_ = 0;
    fired_stop_.reset();
  }

  std::string text_of(std::span<const TokenId> ids) const {
    auto decoder = stream_decoder(*tokenizer_);
    std::string text;
    const auto add = [&text](std::string_view piece) { text += piece; };
    for (TokenId id : ids) decoder.push(id, add);
    decoder.flush(add);
    return text;
  }

  // The template's stop marker where the vocabulary has it, every end token, and the extra ones.
  bool ends_turn(TokenId id) const {
    if (std::ranges::count(options().extra_stop_ids, id) > 0) return true;
    return !options().stop.ignore_end_tokens && (id == stop_marker_ || tokenizer_->is_eos(id));
  }

  Model* model_;
  const Text* tokenizer_;
  Settings settings_;
  Cache cache_;
  Sampler sampler_;
  std::optional<Guesser> guesser_;
  std::optional<TokenId> stop_marker_;
  std::optional<std::vector<Message>> messages_ = std::vector<Message>();  // nothing: unknown
  Transcript transcript_;
  size_t answer_begin_ = 0;  // index of the last answer's first token; 0: none yet
  size_t reused_ = 0;        // tokens that the last turn found in the cache
  std::optional<size_t> fired_stop_;
};

}  // namespace maglio::chat

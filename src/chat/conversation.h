// A conversation over any language model and any tokenizer (section 12.7).
//
// It owns the cache, the history and the sampler. The history is kept twice: as messages, which a
// template renders anew for each turn, and as the tokens that the model has seen (transcript.h). A
// turn computes only what follows the first difference between the two, so a conversation never
// computes its past twice, and templates may leave old thoughts out.
//
// Somebody who keeps the history himself sends rendered prompts or ids instead; the messages are
// then unknown, and send refuses until clear(). Several conversations answer together in batch.h.
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
#include "chat/conversation_file.h"
#include "chat/history.h"
#include "chat/plan.h"
#include "chat/prompter.h"
#include "chat/transcript.h"
#include "decode/answer.h"
#include "decode/guesser.h"
#include "maglio/conversation.h"

namespace maglio::chat {

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

  // Where the options name a file, the conversation is the one that it holds, if it holds one.
  // Throws: Error bad_request for a sampler setting out of range; what ConversationFile throws;
  // unsupported "CannotPersist" for a file and a model whose caches cannot lie in one.
  Conversation(Model& model, const Text& tokenizer, Settings settings)
      : model_(&model),
        prompter_(tokenizer, std::move(settings)),
        cache_(new_cache()),
        sampler_(options().sampler, model.kernels()),
        guesser_(Guesser::from(options().speculation, model.kernels(), prompter_.encoder())) {
    if (!options().file.empty()) open_file();
  }

  // Says `user` and hands the answer to the sink as it comes.
  // Throws: Error context_full "ContextFull" when the turn does not fit, bad_request
  // "UnknownHistory" after prompts that were rendered elsewhere, and what rendering and encoding
  // throw: the conversation is then as it was before. Errors of model, sampler and sink leave the
  // history as it was; what had been computed of the turn is forgotten. Error io
  // "CannotWriteFile": the answer is given and remembered, but not kept in the file.
  Reply send(std::string_view user, const TextSink& sink, Constraint* constraint = nullptr) {
    return answer(plan(with_question(user)), sink, constraint);
  }

  // Drops the last answer and gives another. Throws: as send; bad_request "NoAnswer".
  Reply regenerate(const TextSink& sink, Constraint* constraint = nullptr) {
    if (!has_answer()) {
      throw Error(ErrorKind::bad_request, "NoAnswer",
                  "there is no answer yet that another could replace: ask something first");
    }
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
    return answer(checked({prompter_.continued(transcript_, turn)}), sink, constraint);
  }

  // A whole history that somebody else has rendered: what it has in common with the tokens that are
  // here is not computed again.
  Reply send_rendered_reuse(const Rendered& prompt,
                            const TextSink& sink,
                            Constraint* constraint = nullptr) {
    return answer(checked({prompter_.retold(transcript_, prompt)}), sink, constraint);
  }

  // The same with ids. Throws: Error bad_request "EmptyPrompt".
  Reply send_tokens_reuse(std::span<const TokenId> prompt,
                          const TextSink& sink,
                          Constraint* constraint = nullptr) {
    if (prompt.empty()) {
      throw Error(ErrorKind::bad_request, "EmptyPrompt",
                  "the prompt has no tokens, expected at least one");
    }
    return answer(checked({Transcript({prompt.begin(), prompt.end()})}), sink, constraint);
  }

  // Forgets the last question and what followed it. False: there was none, or nobody knows it.
  // Throws: Error io "CannotWriteFile": it is forgotten, but the file holds it until the next turn.
  bool undo_turn() {
    if (!messages_) return false;
    std::vector<Message> history = *messages_;
    if (!drop_last_turn(history)) return false;
    const size_t keep = history.empty() ? 0 : common_prefix(tokens(), retold(history).tokens());
    messages_ = std::move(history);
    forget_from(keep);
    keep_in_file();
    return true;
  }

  // Forgets every turn; the sampler goes on where it was. Throws: as undo_turn.
  void clear() {
    forget_all();
    keep_in_file();
  }

  // A second conversation with the same past. What the cache shares with its copy is the cache's
  // business: a KvCache shares all pages until one of the two writes to them. A file that the
  // conversation is kept in stays this one's.
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
    forget_all();
    cache_ = std::move(warm.cache);
    transcript_ = Transcript(std::move(warm.tokens));
    keep_in_file();
  }

  // Gives cache and tokens away; the conversation begins anew.
  Warm take_cache() {
    Warm warm{std::move(cache_), std::move(transcript_.tokens())};
    cache_ = new_cache();
    transcript_ = {};
    forget_all();
    keep_in_file();
    return warm;
  }

  // To a file, and back: the history, the system message and whether to think, the cache, and where
  // the sampler of the same seed is. A loaded conversation goes on as the saved one would have, bit
  // for bit; where the file holds no turn yet it is an empty one.
  // Throws: as save_conversation and load_conversation; the conversation is as it was. Error io
  // "CannotWriteFile" also when what was loaded is not kept in the file of the options.
  void save(const std::filesystem::path& path)
    requires PersistentCache<Cache>
  {
    std::error_code none;
    if (file_ && std::filesystem::equivalent(path, file_->path(), none)) {
      return file_->rewrite(snapshot(), cache_);
    }
    save_conversation(path, prompter_.settings.binding, snapshot(), cache_);
  }
  void load(const std::filesystem::path& path)
    requires PersistentCache<Cache>
  {
    Loaded loaded = load_conversation(path, prompter_.settings.binding, cache_);
    found_in_file_ = loaded.found;
    if (loaded.snapshot) {
      adopt(*std::move(loaded.snapshot));
    } else {
      forget_all();
    }
    keep_in_file();
  }
  // Of the last load, or of the file of the options when it was opened.
  const FoundInFile& found_in_file() const { return found_in_file_; }

  // Everything said so far, template included.
  std::span<const TokenId> tokens() const { return transcript_.tokens(); }
  // Without the system message; nothing where prompts were rendered elsewhere.
  std::span<const Message> messages() const {
    return messages_ ? std::span<const Message>(*messages_) : std::span<const Message>();
  }
  const Cache& cache() const { return cache_; }
  const ConversationOptions& options() const { return prompter_.settings.options; }
  // Of the last turn: tokens that were there already, and the stop string that ended the answer.
  size_t reused_prefix() const { return reused_; }
  std::optional<size_t> fired_stop() const { return fired_stop_; }

  // From the next turn on.
  void set_system(std::optional<std::string> text) { changed().system = std::move(text); }
  void set_thinking(Thinking thinking) { changed().thinking = thinking; }
  void set_stop(StopRule stop) { changed().stop = std::move(stop); }
  void set_max_tokens(std::optional<size_t> n) { changed().max_tokens = n; }
  // Throws: Error bad_request "BadSamplerConfig"; nothing has changed then.
  void set_sampler(const SamplerConfig& config) {
    sampler_ = Sampler(config, model_->kernels());
    changed().sampler = config;
  }

 private:
  template <LanguageModel M, TextTokenizer T>
  friend class Batch;

  using Decoder = decltype(stream_decoder(std::declval<const Text&>()));

  // Forgets what was computed of a turn, unless it is kept.
  class Undo {
   public:
    explicit Undo(Conversation* conversation) : conversation_(conversation) {}
    Undo(const Undo&) = delete;
    Undo& operator=(const Undo&) = delete;
    ~Undo() {
      if (conversation_ != nullptr) conversation_->forget_from(conversation_->reused_);
    }
    void keep() { conversation_ = nullptr; }

   private:
    Conversation* conversation_;
  };

  Conversation(const Conversation& other, Cache cache)
      : model_(other.model_),
        prompter_(other.prompter_),
        cache_(std::move(cache)),
        sampler_(other.sampler_),
        guesser_(other.guesser_),
        messages_(other.messages_),
        transcript_(other.transcript_),
        answer_begin_(other.answer_begin_),
        reused_(other.reused_),
        fired_stop_(other.fired_stop_) {
    changed().file.clear();
  }

  ConversationOptions& changed() { return prompter_.settings.options; }
  Cache new_cache() const {
    return model_->new_cache(options().context_size, prompter_.settings.cache_type);
  }
  Transcript retold(const std::vector<Message>& history) const {
    return prompter_.retold(transcript_, prompter_.render(history));
  }

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

  Plan plan(std::vector<Message> history) const {
    return plan_answer(prompter_, transcript_, std::move(history), cache_.capacity());
  }
  Plan checked(Plan plan) const { return fitting(std::move(plan), cache_.capacity()); }

  // The prompt of the last answer, where nobody knows its messages.
  Plan last_prompt() const {
    Plan plan{transcript_};
    plan.prompt.truncate(answer_begin_);
    return plan;
  }

  Reply answer(Plan plan, const TextSink& sink, Constraint* constraint) {
    begin(plan);
    Undo undo(this);
    auto answer = open_answer(sink, constraint);
    Reply reply = answer.reply(generate(answer.stream()));
    undo.keep();
    end(std::move(plan), reply);
    keep_in_file();
    return reply;
  }

  // The prompt becomes what is said; the cache keeps what it has of it, but for the last token,
  // which is computed again for its logits.
  void begin(Plan& plan) {
    const size_t common = common_prefix(transcript_.tokens(), plan.prompt.tokens());
    reused_ = std::min({common, cache_.length(), plan.prompt.tokens().size() - 1});
    cache_.truncate(reused_);
    transcript_ = std::move(plan.prompt);
    answer_begin_ = transcript_.tokens().size();
    fired_stop_.reset();
  }

  Answer<Model, Decoder> open_answer(const TextSink& sink, Constraint* constraint) {
    return {
        sequence(constraint),
        stream_decoder(prompter_.tokenizer()),
        {{options().stop.strings}, options().max_tokens.value_or(kNoLimit), options().on_prompt},
        [this](TokenId id) { return prompter_.ends_turn(id); },
        sink};
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

  void end(Plan plan, Reply& reply) {
    transcript_.tell_rest(answer_begin_, text_of(prompter_.tokenizer(), reply.ids));
    fired_stop_ = reply.stop_string;
    reply.dropped_messages = plan.dropped_messages;
    if (guesser_) reply.speculation = guesser_->drafter.stats();
    messages_ = std::move(plan.history);
    if (messages_) messages_->push_back(answer_message(reply.text, plan.thinks));
  }

  void forget_from(size_t keep) {
    transcript_.truncate(keep);
    cache_.truncate(keep);
    reused_ = std::min(reused_, keep);
    answer_begin_ = 0;
    fired_stop_.reset();
  }

  void forget_all() {
    forget_from(0);
    messages_.emplace();
  }

  Snapshot snapshot() const {
    return {messages_,
            transcript_,
            answer_begin_,
            options().system,
            options().thinking,
            sampler_.config().seed,
            sampler_.random_state()};
  }
  void adopt(Snapshot snapshot) {
    messages_ = std::move(snapshot.messages);
    transcript_ = std::move(snapshot.transcript);
    answer_begin_ = snapshot.answer_begin;
    changed().system = std::move(snapshot.system);
    changed().thinking = snapshot.thinking;
    if (snapshot.seed == sampler_.config().seed) sampler_.resume(snapshot.random);
    reused_ = 0;
    fired_stop_.reset();
  }

  void open_file() {
    if constexpr (PersistentCache<Cache>) {
      Snapshot found = snapshot();
      file_.emplace(options().file, prompter_.settings.binding, found, cache_);
      found_in_file_ = file_->found();
      adopt(std::move(found));
    } else {
      throw Error(ErrorKind::unsupported, "CannotPersist",
                  "the caches of this model cannot be kept in a file");
    }
  }
  void keep_in_file() {
    if constexpr (PersistentCache<Cache>) {
      if (file_) file_->keep(snapshot(), cache_);
    }
  }

  Model* model_;
  Prompter<Text> prompter_;
  Cache cache_;
  Sampler sampler_;
  std::optional<Guesser> guesser_;
  std::optional<std::vector<Message>> messages_ = std::vector<Message>();  // nothing: unknown
  Transcript transcript_;
  size_t answer_begin_ = 0;  // index of the last answer's first token; 0: none yet
  size_t reused_ = 0;        // tokens that the last turn found in the cache
  std::optional<size_t> fired_stop_;
  std::optional<ConversationFile> file_;  // that each turn is kept in
  FoundInFile found_in_file_;
};

}  // namespace maglio::chat

// The public Conversation: the one of this room, over a Transformer and its Tokenizer.
#include <memory>
#include <utility>

#include "chat/batch.h"
#include "chat/chat_template.h"
#include "chat/conversation.h"
#include "chat/model_template.h"
#include "maglio/batch.h"
#include "maglio/conversation.h"
#include "model/kv_cache.h"
#include "model/model.h"
#include "model/transformer.h"

namespace maglio {

static_assert(LanguageModel<Transformer> && BatchLanguageModel<Transformer>);

struct Conversation::State {
  Model model;  // keeps the borrowed parts alive
  chat::Conversation<Transformer, Tokenizer> conversation;
};

namespace {

chat::Settings settings_for(const Model& model, ConversationOptions options) {
  options.context_size = context_size_of(model, options.context_size);
  const CacheType type = options.cache == CacheFormat::f16 ? CacheType::f16 : CacheType::q8_0;
  return {chat::ChatTemplate::of(model, options.chat_template),
          std::move(options),
          type,
          {model.info().fingerprint, model.info().vocab_size}};
}

}  // namespace

Conversation::Conversation(const Model& model, const ConversationOptions& options)
    : state_(std::unique_ptr<State>(new State{
          model,
          {model.parts().transformer, model.parts().tokenizer, settings_for(model, options)}})) {}

Conversation::Conversation(std::unique_ptr<State> state) : state_(std::move(state)) {}
Conversation::Conversation(Conversation&&) noexcept = default;
Conversation& Conversation::operator=(Conversation&&) noexcept = default;
Conversation::~Conversation() = default;

Reply Conversation::send(std::string_view user, const TextSink& sink, Constraint* constraint) {
  return state_->conversation.send(user, sink, constraint);
}

Reply Conversation::regenerate(const TextSink& sink, Constraint* constraint) {
  return state_->conversation.regenerate(sink, constraint);
}

bool Conversation::has_answer() const {
  return state_->conversation.has_answer();
}

bool Conversation::undo_turn() {
  return state_->conversation.undo_turn();
}

void Conversation::clear() {
  state_->conversation.clear();
}

Conversation Conversation::fork() const {
  return Conversation(
      std::unique_ptr<State>(new State{state_->model, state_->conversation.fork()}));
}

void Conversation::save(const std::filesystem::path& path) {
  state_->conversation.save(path);
}

void Conversation::load(const std::filesystem::path& path) {
  state_->conversation.load(path);
}

const FoundInFile& Conversation::found_in_file() const {
  return state_->conversation.found_in_file();
}

std::span<const Message> Conversation::messages() const {
  return state_->conversation.messages();
}

std::span<const TokenId> Conversation::tokens() const {
  return state_->conversation.tokens();
}

const ConversationOptions& Conversation::options() const {
  return state_->conversation.options();
}

void Conversation::set_system(std::optional<std::string> system) {
  state_->conversation.set_system(std::move(system));
}

void Conversation::set_thinking(Thinking thinking) {
  state_->conversation.set_thinking(thinking);
}

void Conversation::set_sampler(const SamplerConfig& config) {
  state_->conversation.set_sampler(config);
}

void Conversation::set_stop(StopRule stop) {
  state_->conversation.set_stop(std::move(stop));
}

void Conversation::set_max_tokens(std::optional<size_t> max_tokens) {
  state_->conversation.set_max_tokens(max_tokens);
}

std::vector<BatchOutcome> Conversation::send_batch(std::span<const BatchTurn> turns) {
  std::vector<chat::BatchTurn<Transformer, Tokenizer>> inner;
  for (const BatchTurn& turn : turns) {
    inner.push_back(
        {&turn.conversation->state_->conversation, turn.user, turn.sink, turn.constraint});
  }
  return chat::send_batch<Transformer, Tokenizer>(inner);
}

std::vector<BatchOutcome> send_batch(std::span<const BatchTurn> turns) {
  return Conversation::send_batch(turns);
}

}  // namespace maglio

// The public Conversation: the one of this room, over a Transformer and its Tokenizer.
#include <memory>
#include <utility>

#include "chat/chat_template.h"
#include "chat/conversation.h"
#include "chat/model_template.h"
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
  return {chat::ChatTemplate::of(model, options.chat_template).native(), std::move(options), type};
}

}  // namespace

Conversation::Conversation(const Model& model, const ConversationOptions& options)
    : state_(std::unique_ptr<State>(new State{
          model,
          {model.parts().transformer, model.parts().tokenizer, settings_for(model, options)}})) {}

Conversation::Conversation(Conversation&&) noexcept = default;
Conversation& Conversation::operator=(Conversation&&) noexcept = default;
Conversation::~Conversation() = default;

Reply Conversation::send(std::string_view user, const TextSink& sink) {
  return state_->conversation.send(user, sink);
}

Reply Conversation::regenerate(const TextSink& sink) {
  return state_->conversation.regenerate(sink);
}

bool Conversation::has_answer() const {
  return state_->conversation.has_answer();
}

void Conversation::clear() {
  state_->conversation.clear();
}

std::span<const TokenId> Conversation::tokens() const {
  return state_->conversation.tokens();
}

}  // namespace maglio

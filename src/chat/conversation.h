// A conversation over any language model and any tokenizer (section 12.7).
//
// It owns the cache, the tokens so far, the sampler and the text stream. Each send renders one
// turn, encodes it, and feeds only what the cache has not seen, so a conversation never computes
// its past twice.
#pragma once

#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/rendered.h"
#include "chat/template.h"
#include "decode/answer.h"
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

// Does a conversation open with BOS: because the template or because the tokenizer says so?
template <TextTokenizer Text>
bool opens_with_bos(const Template& chat_template, const Text& tokenizer) {
  return tokenizer.bos_id() && (tokenizer.adds_bos() || chat_template.opens_with_bos());
}

struct Settings {
  Template chat_template;
  ConversationOptions options;  // context_size 0 is not resolved here: give the capacity
  CacheType cache_type = CacheType::f16;
};

// Borrows model and tokenizer for its lifetime. Not thread-safe.
// Invariant: the cache holds a prefix of tokens().
template <LanguageModel Model, TextTokenizer Text>
class Conversation {
 public:
  // Throws: Error bad_request for a sampler setting out of range.
  Conversation(Model& model, const Text& tokenizer, Settings settings)
      : model_(&model),
        tokenizer_(&tokenizer),
        settings_(std::move(settings)),
        cache_(model.new_cache(options().context_size, settings_.cache_type)),
        sampler_(options().sampler, model.kernels()) {}

  // Says `user` and hands the answer to the sink as it comes.
  // Throws: Error context_full "ContextFull" when the turn does not fit, and what encoding throws:
  // the conversation is then as it was before. Errors of model and sampler leave what was answered
  // so far.
  Reply send(std::string_view user, const TextSink& sink, Constraint* constraint = nullptr) {
    return send_rendered(settings_.chat_template.render_turn(
                             {user, system(), /*first=*/tokens_.empty(), options().thinking}),
                         sink, constraint);
  }

  // The same with a turn that somebody else has rendered.
  Reply send_rendered(const Rendered& turn,
                      const TextSink& sink,
                      Constraint* constraint = nullptr) {
    const size_t before = tokens_.size();
    const auto ids = encode(*tokenizer_, turn, options().user_specials, options().normalization);
    if (before == 0 && opens_with_bos(settings_.chat_template, *tokenizer_)) {
      tokens_.push_back(*tokenizer_->bos_id());
    }
    tokens_.insert(tokens_.end(), ids.begin(), ids.end());
    if (tokens_.size() >= cache_.capacity()) {
      const size_t needed = tokens_.size();
      tokens_.resize(before);
      throw Error(ErrorKind::context_full, "ContextFull",
                  fmt::format("this turn needs {} tokens with the conversation before it, the "
                              "context size is {}: start anew, or raise --ctx",
                              needed, cache_.capacity()));
    }
    answer_begin_ = tokens_.size();
    return answer(sink, constraint);
  }

  // Drops the last answer and gives another. Requires: has_answer().
  Reply regenerate(const TextSink& sink, Constraint* constraint = nullptr) {
    tokens_.resize(answer_begin_);
    // The last token is computed again for its logits.
    cache_.truncate(std::min(cache_.length(), answer_begin_ - 1));
    return answer(sink, constraint);
  }
  bool has_answer() const { return answer_begin_ > 0; }

  // Forgets every turn; the sampler goes on where it was.
  void clear() {
    tokens_.clear();
    cache_.truncate(0);
    answer_begin_ = 0;
  }

  // Everything said so far, template included.
  std::span<const TokenId> tokens() const { return tokens_; }
  const CacheOf<Model>& cache() const { return cache_; }

 private:
  const ConversationOptions& options() const { return settings_.options; }

  std::optional<std::string_view> system() const {
    return options().system ? options().system : settings_.chat_template.default_system();
  }

  // The template's stop marker where the vocabulary has it, and every end token.
  bool ends_turn(TokenId id) const {
    return tokenizer_->is_eos(id) ||
           id == tokenizer_->token_id(settings_.chat_template.stop_marker());
  }

  // Requires: tokens beyond the cache's length.
  Reply answer(const TextSink& sink, Constraint* constraint) {
    const AnswerRule rule{options().stop, options().max_tokens.value_or(kNoLimit)};
    return stream_answer(
        Sequence<Model>{*model_, cache_, tokens_, sampler_, constraint},
        stream_decoder(*tokenizer_), rule, [this](TokenId id) { return ends_turn(id); }, sink);
  }

  Model* model_;
  const Text* tokenizer_;
  Settings settings_;
  CacheOf<Model> cache_;
  Sampler sampler_;
  std::vector<TokenId> tokens_;
  size_t answer_begin_ = 0;  // index into tokens_ of the last answer; 0: none yet
};

}  // namespace maglio::chat

// The chat template of a model: a whole history becomes one prompt.
//
// A model file carries its template as a Jinja program. maglio has four renderers of its own
// besides (template.h), for files without one and for whoever asks for them.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "chat/chat_request.h"
#include "chat/rendered.h"
#include "chat/template.h"
#include "maglio/model.h"

namespace maglio::chat {

// Immutable: any number of threads may render with one.
class ChatTemplate {
 public:
  explicit ChatTemplate(Template native) : native_(std::move(native)) {}

  // `choice`: native, file (the model's own; native where it has none), or the path of a template.
  // Throws: Error unsupported "UnknownChatTemplate", io for a path that cannot be read.
  static ChatTemplate of(const Model& model, std::string_view choice);

  // The whole history, ready for the next answer. A later turn of the same conversation renders to
  // the same beginning, up to what the template takes out of old answers (their thoughts).
  // Throws: Error bad_request for messages that the template has no form for.
  Rendered render(const ChatRequest& request) const;

  const Template& native() const { return native_; }
  // The text of the token that ends an answer.
  std::string_view stop_marker() const { return native_.stop_marker(); }
  // Does a prompt open with BOS although the template does not write it itself?
  bool opens_with_bos() const { return native_.opens_with_bos(); }

 private:
  Template native_;
};

// The ids of a whole prompt. BOS comes first where the template or the tokenizer wants it and the
// prompt does not have it yet.
template <class TextTokenizer>
std::vector<TokenId> encode_prompt(const TextTokenizer& tokenizer,
                                   const ChatTemplate& chat_template,
                                   const Rendered& prompt,
                                   Tokenizer::Specials said = Tokenizer::Specials::plain,
                                   Tokenizer::Normalization normalization = {}) {
  auto ids = encode(tokenizer, prompt, said, normalization);
  const auto bos = tokenizer.bos_id();
  const bool wanted = bos && (tokenizer.adds_bos() || chat_template.opens_with_bos());
  if (wanted && (ids.empty() || ids.front() != *bos)) ids.insert(ids.begin(), *bos);
  return ids;
}

}  // namespace maglio::chat

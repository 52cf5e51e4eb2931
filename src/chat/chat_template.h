// The chat template of a model: a whole history becomes one prompt.
//
// A model file carries its template as a Jinja program, which is evaluated (jinja_template.h).
// maglio has four renderers of its own besides (template.h), for files without a template and for
// whoever asks for them.
#pragma once

#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/chat_request.h"
#include "chat/rendered.h"
#include "chat/template.h"
#include "maglio/model.h"

namespace maglio::chat {

// What a model file says of its templates; empty: nothing.
struct TemplateSources {
  std::string main;      // tokenizer.chat_template
  std::string tool_use;  // tokenizer.chat_template.tool_use: where tools are offered
};

// Immutable: any number of threads may render with one.
class ChatTemplate {
 public:
  explicit ChatTemplate(Template native) : native_(std::move(native)) {}
  // A Jinja template, for a vocabulary. Throws: Error bad_file "TemplateSyntax", "TemplateLimit".
  static ChatTemplate from_jinja(const TemplateSources& sources, const Tokenizer& tokenizer);

  // `choice`: native, file (the model's own; native where it has none), or the path of a template.
  // Throws: Error unsupported "UnknownChatTemplate", io for a path that cannot be read, bad_file
  // for a template that cannot be parsed.
  static ChatTemplate of(const TemplateSources& sources,
                         const Tokenizer& tokenizer,
                         std::string_view choice);
  static ChatTemplate of(const Model& model, std::string_view choice);

  // The whole history, ready for the next answer. A later turn of the same conversation renders to
  // the same beginning, up to what the template takes out of old answers (their thoughts).
  // Throws: Error bad_request for messages that the template has no form for.
  Rendered render(const ChatRequest& request) const { return render(request, std::time(nullptr)); }
  // The same at another time, for templates that say the date.
  Rendered render(const ChatRequest& request, std::time_t now) const;

  // The text of the token that ends an answer; empty where only the model's end tokens do.
  std::string_view stop_marker() const;
  // Does a prompt open with BOS although the template does not write it itself?
  bool opens_with_bos() const { return native_ && native_->opens_with_bos(); }
  // Does the template say a system message when the history has none?
  bool has_own_system() const;

 private:
  struct Jinja;
  explicit ChatTemplate(std::shared_ptr<const Jinja> jinja) : jinja_(std::move(jinja)) {}

  // One of the two.
  std::optional<Template> native_;
  std::shared_ptr<const Jinja> jinja_;  // shared by copies, never changed
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

// A model's own template, with what has to be known of it before a request fits.
//
// Templates disagree about the shape of messages. Some want the arguments of a tool call as an
// object, some as text; some want content as a list of parts. What a template takes is found out by
// trying it: it renders a message with a word in it that nobody else says, and the word comes
// through or it does not.
#pragma once

#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "chat/chat_request.h"
#include "chat/jinja/ast.h"
#include "chat/jinja/text.h"

namespace maglio::chat {

// The texts of two tokens, as templates write them; empty where the vocabulary has none.
struct TokenTexts {
  std::string bos, eos;
};

// Immutable.
class JinjaTemplate {
 public:
  // Throws: Error bad_file "TemplateSyntax", "TemplateLimit".
  JinjaTemplate(std::string_view source, TokenTexts tokens);

  // Throws: as jinja::render, and bad_request for messages that the template has no form for.
  jinja::Text render(const ChatRequest& request, std::time_t now) const;

  // What comes behind an answer that is closed, from its first byte on; trusted text.
  const std::string& after_answer() const { return after_answer_; }
  // Does it say a system message of its own when nobody else does?
  bool has_own_system() const { return has_own_system_; }

 private:
  enum class Content : uint8_t { text, parts };

  jinja::Text run(const ChatRequest& request,
                  std::time_t now,
                  const jinja::Limits& limits = {}) const;
  jinja::Text run_probe(std::vector<Message> messages) const;
  jinja::Text continued(ChatRequest request, std::time_t now) const;
  jinja::Value fitted(const jinja::Value& message) const;
  jinja::Value fitted_calls(const jinja::Value& calls) const;
  jinja::Value fitted_arguments(const jinja::Value& arguments) const;
  // Does the word come through when this is rendered?
  bool shows(const ChatRequest& request, std::string_view word) const;
  void try_out();
  void try_arguments();
  void try_system();

  jinja::Program program_;
  TokenTexts tokens_;
  bool knows_developer_ = false;
  Content content_ = Content::text;
  bool takes_arguments_as_text_ = true, takes_arguments_as_object_ = true;
  bool has_own_system_ = false;
  std::string after_answer_;
};

}  // namespace maglio::chat

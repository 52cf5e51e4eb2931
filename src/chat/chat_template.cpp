#include "chat/chat_template.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "chat/jinja/lexer.h"
#include "chat/jinja_template.h"
#include "chat/marked_text.h"
#include "chat/model_template.h"
#include "maglio/error.h"

namespace maglio::chat {
namespace {

std::string read_template(const std::string& path) {
  std::error_code unknown;  // what cannot be asked cannot be opened either
  const bool is_folder = std::filesystem::is_directory(path, unknown);
  std::ifstream file(path, std::ios::binary);
  if (!file || is_folder) {
    throw Error(ErrorKind::io, "CannotRead",
                fmt::format("--chat-template: expected native, file or the path of a template; "
                            "'{}' cannot be read: {}",
                            path, std::strerror(is_folder ? EISDIR : errno)));
  }
  std::string source(jinja::kMaxSourceBytes + 1, '\0');  // one more, and the parser refuses it
  file.read(source.data(), static_cast<std::streamsize>(source.size()));
  source.resize(static_cast<size_t>(file.gcount()));
  return source;
}

// Requests say enable_thinking; the native templates know nothing else.
Thinking native_thinking(const ChatRequest& request) {
  const jinja::Value* enabled = request.kwargs.find("enable_thinking");
  return enabled && !enabled->truthy() ? Thinking::off : request.thinking;
}

TokenTexts token_texts(const Tokenizer& tokenizer) {
  const auto text = [&](std::optional<TokenId> id) {
    return id ? std::string(tokenizer.piece(*id)) : std::string();
  };
  return {text(tokenizer.bos_id()), text(tokenizer.eos_id())};
}

}  // namespace

struct ChatTemplate::Jinja {
  JinjaTemplate main;
  std::optional<JinjaTemplate> tool_use;
  SpecialTokens controls;
  std::string stop_marker;
};

ChatTemplate ChatTemplate::from_jinja(const TemplateSources& sources, const Tokenizer& tokenizer) {
  const TokenTexts tokens = token_texts(tokenizer);
  auto jinja = std::make_shared<Jinja>(
      Jinja{JinjaTemplate(sources.main, tokens), {}, control_tokens(tokenizer), {}});
  if (!sources.tool_use.empty()) jinja->tool_use.emplace(sources.tool_use, tokens);
  const std::string& behind = jinja->main.after_answer();
  const auto markers = jinja->controls.find(behind);
  if (!markers.empty()) jinja->stop_marker = behind.substr(markers[0].begin, markers[0].size);
  return ChatTemplate(std::shared_ptr<const Jinja>(std::move(jinja)));
}

ChatTemplate ChatTemplate::of(const TemplateSources& sources,
                              const Tokenizer& tokenizer,
                              std::string_view choice) {
  if (choice == "native" || (choice == "file" && sources.main.empty())) {
    return ChatTemplate(native_template(sources.main, tokenizer));
  }
  if (choice == "file") return from_jinja(sources, tokenizer);
  return from_jinja({read_template(std::string(choice)), {}}, tokenizer);
}

ChatTemplate ChatTemplate::of(const Model& model, std::string_view choice) {
  return of({model.info().chat_template, model.info().tool_use_template}, model.tokenizer(),
            choice);
}

Rendered ChatTemplate::render(const ChatRequest& request, std::time_t now) const {
  if (native_) {
    std::vector<Message> messages;
    for (const jinja::Value& message : request.messages) messages.push_back(plain_message(message));
    if (!request.tools.is_none()) {
      throw Error(ErrorKind::unsupported, "ToolsWithoutTemplate",
                  "tools: the native chat templates have no form for them: use the model's own, "
                  "--chat-template file");
    }
    return native_->render_messages(
        messages, native_thinking(request),
        request.add_generation_prompt ? Opening::next_answer : Opening::nothing);
  }
  const bool with_tools = jinja_->tool_use && !request.tools.is_none();
  const JinjaTemplate& chosen = with_tools ? *jinja_->tool_use : jinja_->main;
  return rendered_from(chosen.render(request, now), jinja_->controls);
}

std::string_view ChatTemplate::stop_marker() const {
  return native_ ? native_->stop_marker() : std::string_view(jinja_->stop_marker);
}

bool ChatTemplate::has_own_system() const {
  return native_ ? native_->default_system().has_value() : jinja_->main.has_own_system();
}

}  // namespace maglio::chat

#include "chat/chat_template.h"

#include <fmt/format.h>

#include "chat/model_template.h"
#include "maglio/error.h"

namespace maglio::chat {

ChatTemplate ChatTemplate::of(const Model& model, std::string_view choice) {
  if (choice == "native" || choice == "file") return ChatTemplate(template_of(model));
  throw Error(ErrorKind::unsupported, "ChatTemplateSource",
              fmt::format("--chat-template: expected native or file, found '{}'", choice));
}

Rendered ChatTemplate::render(const ChatRequest& request) const {
  return native_.render_messages(request.messages, request.thinking);
}

}  // namespace maglio::chat

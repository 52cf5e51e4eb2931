#include "chat/model_template.h"

#include "maglio/error.h"

namespace maglio {

size_t context_size_of(const Model& model, size_t asked) {
  constexpr size_t kFallback = 4096;
  if (asked > 0) return asked;
  return model.info().n_ctx > 0 ? model.info().n_ctx : kFallback;
}

chat::Template chat::native_template(std::string_view source, const Tokenizer& tokenizer) {
  if (auto known = Template::detect(source)) return *std::move(known);
  if (source.empty() && tokenizer.token_id("<|im_start|>")) return Template(Family::chatml);
  throw Error(ErrorKind::unsupported, "UnknownChatTemplate",
              source.empty() ? "the model file has no chat template: use --prompt"
                             : "the model's chat template is none of ChatML, Llama 3 and Gemma, "
                               "which maglio renders itself: use --chat-template file");
}

}  // namespace maglio

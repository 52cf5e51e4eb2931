// A real Transformer to talk with: small, with weights at random, so that its answers are babble
// that depends on every bit of what it has read.
#pragma once

#include <string>
#include <vector>

#include "chat/conversation.h"
#include "gguf/reader.h"
#include "model/kv_cache.h"
#include "model/transformer.h"
#include "support/synthetic_model.h"

namespace maglio::test::small {

using Ids = std::vector<TokenId>;
using Talk = chat::Conversation<Transformer, Tokenizer>;

inline const TextSink kIgnore = [](std::string_view) { return true; };

struct SmallChat {
  explicit SmallChat(Architecture architecture = Architecture::qwen3)
      : bytes(file_bytes(architecture)) {}

  std::vector<std::byte> bytes;
  Tokenizer tokenizer = Tokenizer::from_gguf(gguf::File::parse(bytes).metadata());
  Transformer model = Transformer::load(gguf::File::parse(bytes));
  ConversationOptions options{
      .sampler = {.temperature = 1, .seed = 7}, .context_size = 400, .max_tokens = 20};
  chat::FileBinding binding{.model = 1234, .vocab_size = model.config().vocab_size};

  static std::vector<std::byte> file_bytes(Architecture architecture) {
    SyntheticModel synthetic;
    synthetic.config = tiny_config(architecture);
    synthetic.tied_head = false;  // or it would say the same token again and again
    return synthetic.bytes();
  }

  Talk talk(CacheType type = CacheType::f16) {
    return {model, tokenizer,
            chat::Settings{chat::ChatTemplate(chat::Template(chat::Family::chatml)), options, type,
                           binding}};
  }
};

}  // namespace maglio::test::small

// expect: required expression .*is_eos.* is invalid
// A tokenizer that cannot say which tokens end an answer is none for a conversation.
#include "chat/conversation.h"
#include "support/scripted_model.h"

namespace maglio {

struct Incomplete {
  std::vector<TokenId> encode_with(std::string_view, const Tokenizer::EncodeOptions&) const;
  std::optional<TokenId> token_id(std::string_view text) const;
  std::optional<TokenId> bos_id() const;
  bool adds_bos() const;
#ifdef CORRECTED
  bool is_eos(TokenId id) const;
#endif
};
StreamDecoder stream_decoder(const Incomplete& tokenizer);

using Talk = chat::Conversation<test::ScriptedModel, Incomplete>;
size_t size_of_talk() {
  return sizeof(Talk);
}

}  // namespace maglio

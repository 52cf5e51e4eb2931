// expect: required expression .*forward_step_all_logits.* is invalid
// A model that cannot give the logits of every position is no model for a conversation, although
// plain decoding never asks for them.
#include "chat/conversation.h"
#include "support/scripted_model.h"

namespace maglio {

struct Incomplete : test::ScriptedModel {
#ifndef CORRECTED
  void forward_step_all_logits() = delete;
#endif
};

using Talk = chat::Conversation<Incomplete, Tokenizer>;
size_t size_of_talk() {
  return sizeof(Talk);
}

}  // namespace maglio

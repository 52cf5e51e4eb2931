// A conversation with a scripted model over a vocabulary of bytes: what is said is known, token by
// token.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chat/conversation.h"
#include "support/byte_vocabulary.h"
#include "support/scripted_model.h"

namespace maglio::test::scripted {

using Ids = std::vector<TokenId>;
using Talk = chat::Conversation<ScriptedModel, Tokenizer>;

inline const ByteVocabulary kVocabulary{
    .merges = {"\n \n", "\n\n \n", "> \n"},
    .specials = {"<|im_start|>", "<|im_end|>", "<|endoftext|>", "<think>", "</think>", "<s>"},
    .bos = "<s>",
    .eos = "<|endoftext|>"};

inline const TokenId kStart = kVocabulary.special_id("<|im_start|>");
inline const TokenId kEnd = kVocabulary.special_id("<|im_end|>");
inline const TokenId kText = kVocabulary.special_id("<|endoftext|>");
inline const TokenId kThink = kVocabulary.special_id("<think>");
inline const TokenId kThinkEnd = kVocabulary.special_id("</think>");

inline Ids bytes(std::string_view text) {
  Ids ids;
  for (char c : text) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

// A scripted answer: the bytes of a text, then an end token.
inline Ids script(std::string_view text, TokenId end = kEnd) {
  Ids ids = bytes(text);
  ids.push_back(end);
  return ids;
}

// The same with a thought before it.
inline Ids thoughtful_script(std::string_view thought, std::string_view text) {
  Ids ids = {kThink};
  for (TokenId id : bytes(thought)) ids.push_back(id);
  ids.push_back(kThinkEnd);
  for (TokenId id : script(text)) ids.push_back(id);
  return ids;
}

inline const TextSink kIgnore = [](std::string_view) { return true; };

struct Chat {
  Tokenizer tokenizer = kVocabulary.tokenizer();
  ScriptedModel model{400, {kEnd}};
  ConversationOptions options{.context_size = 500};

  Talk start(chat::Family family = chat::Family::chatml) {
    return {model, tokenizer, chat::Settings{chat::ChatTemplate(chat::Template(family)), options}};
  }
};

}  // namespace maglio::test::scripted

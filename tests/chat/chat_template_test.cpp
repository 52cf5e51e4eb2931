#include "chat/chat_template.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/byte_vocabulary.h"

namespace maglio::chat {
namespace {

using Ids = std::vector<TokenId>;

TEST(ChatTemplate, RendersAWholeHistoryNatively) {
  const ChatTemplate chatml(Template(Family::chatml));
  const std::vector<Message> history = {
      {Role::system, "S"}, {Role::user, "A"}, {Role::assistant, "B"}, {Role::user, "C"}};
  EXPECT_EQ(chatml.render(chat_request(history, Thinking::on)).text(),
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nA<|im_end|>\n"
            "<|im_start|>assistant\nB<|im_end|>\n<|im_start|>user\nC<|im_end|>\n"
            "<|im_start|>assistant\n");
  EXPECT_EQ(chatml.stop_marker(), "<|im_end|>");
}

TEST(ChatTemplate, PromptsOpenWithOneBosWhereItIsWanted) {
  const test::ByteVocabulary vocabulary{{}, {"<bos>"}, "<bos>", {}};
  const Tokenizer tokenizer = vocabulary.tokenizer();
  const TokenId bos = vocabulary.special_id("<bos>");
  const ChatTemplate gemma(Template(Family::gemma)), chatml(Template(Family::chatml));
  EXPECT_EQ(encode_prompt(tokenizer, gemma, Rendered().words("a")), (Ids{bos, 'a'}));
  EXPECT_EQ(encode_prompt(tokenizer, gemma, Rendered().marker("<bos>").words("a")),
            (Ids{bos, 'a'}));
  EXPECT_EQ(encode_prompt(tokenizer, chatml, Rendered().words("a")), (Ids{'a'}));
}

TEST(ChatTemplate, WhatSomebodySaysIsNoControlTokenOfAPrompt_B17) {
  const test::ByteVocabulary vocabulary{{}, {"<s>"}, {}, {}};
  const Tokenizer tokenizer = vocabulary.tokenizer();
  const ChatTemplate chatml(Template(Family::chatml));
  EXPECT_EQ(encode_prompt(tokenizer, chatml, Rendered().marker("<s>").said("<s>")),
            (Ids{vocabulary.special_id("<s>"), '<', 's', '>'}));
}

}  // namespace
}  // namespace maglio::chat

// A model file that says what a test wants: after each token its one successor.
//
// It is a real qwen3 file and the engine really runs it. The attention and feed-forward outputs are
// zero, so the residual stream stays the token's embedding, a one-hot vector; the head gives the
// successor's logit a large value. The vocabulary is the 256 bytes (id = value) and the ChatML
// markers; the file has a ChatML template without a system message of its own.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "maglio/tokenizer.h"
#include "support/gguf_builder.h"

namespace maglio::test {

class SuccessorModel {
 public:
  static const char* const kChatMl;
  static constexpr TokenId kEndOfText = 256, kTurn = 257, kEndOfTurn = 258;
  static constexpr TokenId kThink = 259, kEndOfThought = 260;  // "<think>", "</think>", ordinary

  // After `token` comes `next`. A token without a successor is followed by <|im_end|>.
  SuccessorModel& after(TokenId token, TokenId next);
  // After the head of an answer ("assistant\n", so: after a line feed) this text comes, byte by
  // byte, then <|im_end|>. Requires: no byte twice, no line feed.
  SuccessorModel& answers(std::string_view text);
  // Further metadata.
  SuccessorModel& meta(std::function<void(GgufBuilder&)> add);

  void write(const std::filesystem::path& path) const;

  size_t context_length = 512;
  std::string chat_template = kChatMl;  // empty: none

 private:
  std::map<TokenId, TokenId> successors_;
  std::vector<std::function<void(GgufBuilder&)>> meta_;
};

}  // namespace maglio::test

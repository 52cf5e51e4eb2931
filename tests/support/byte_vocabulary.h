// A small vocabulary that can spell everything: the 256 bytes, then a few merges and special
// tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "maglio/tokenizer.h"

namespace maglio::test {

// Ids 0 to 255 are the bytes in the order of their values; the merged symbols follow in the order
// of the rules, then the special tokens (control tokens; <think> and </think> are user-defined).
struct ByteVocabulary {
  std::vector<std::string> merges;    // "left right", as text: "h i"
  std::vector<std::string> specials;  // "<|im_end|>"
  std::string bos, eos;               // texts of special tokens, or empty
  std::string pre = "qwen2";

  Tokenizer tokenizer() const;
  TokenId special_id(std::string_view text) const;  // of one of specials
};

}  // namespace maglio::test

// What a conversation asks of a tokenizer: half of the contract of section 12.7, the other half is
// LanguageModel (decode/language_model.h).
#pragma once

#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maglio/tokenizer.h"

namespace maglio::chat {

inline StreamDecoder stream_decoder(const Tokenizer& tokenizer) {
  return StreamDecoder(tokenizer);
}

template <class T>
concept TextTokenizer = requires(const T& tokenizer, std::string_view text, TokenId id) {
  { tokenizer.encode_with(text, Tokenizer::EncodeOptions{}) } -> std::same_as<std::vector<TokenId>>;
  { tokenizer.token_id(text) } -> std::same_as<std::optional<TokenId>>;
  { tokenizer.bos_id() } -> std::same_as<std::optional<TokenId>>;
  { tokenizer.adds_bos() } -> std::same_as<bool>;
  { tokenizer.is_eos(id) } -> std::same_as<bool>;
  stream_decoder(tokenizer);
};

// The text that a client sees of these ids.
template <TextTokenizer Text>
std::string text_of(const Text& tokenizer, std::span<const TokenId> ids) {
  auto decoder = stream_decoder(tokenizer);
  std::string text;
  const auto add = [&text](std::string_view piece) { text += piece; };
  for (TokenId id : ids) decoder.push(id, add);
  decoder.flush(add);
  return text;
}

}  // namespace maglio::chat

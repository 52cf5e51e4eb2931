#include "text/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <initializer_list>
#include <string>

#include "maglio/error.h"
#include "text/byte_alphabet.h"

namespace maglio {
namespace {

// tokenizer.ggml.token_type, as the GGUF specification numbers it.
enum GgufTokenType : int32_t {
  kTypeNormal = 1,
  kTypeUnknown = 2,
  kTypeControl = 3,
  kTypeUserDefined = 4,
  kTypeByte = 6,
};

using Texts = std::initializer_list<std::string_view>;

// Texts of tokens that end a generation (llama.cpp's list, of llama-cpp-python 0.3.36, including
// the three fill-in-the-middle roles that it stops at).
const Texts kEndTexts = {
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "</s>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
    "<｜end▁of▁sentence｜>",
    "[e~[",
    // padding, repository name and file separator of fill-in-the-middle
    "<|fim_pad|>",
    "<fim-pad>",
    "<fim_pad>",
    "<PAD>",
    "[PAD]",
    "<|fim_repo|>",
    "<|repo_name|>",
    "<fim-repo>",
    "<REPO>",
    "<reponame>",
    "<|file_sep|>",
};

// Prefix, suffix and middle of fill-in-the-middle: control tokens, but no ends.
const Texts kFillTexts = {
    "<|fim_prefix|>", "<fim-prefix>",    "<fim_prefix>",    "<｜fim▁begin｜>", "<PRE>",
    "▁<PRE>",         "<|code_prefix|>", "<|prefix|>",      "<|fim_suffix|>",  "<fim-suffix>",
    "<fim_suffix>",   "<｜fim▁hole｜>",  "<SUF>",           "▁<SUF>",          "<|code_suffix|>",
    "<|suffix|>",     "<|fim_middle|>",  "<fim-middle>",    "<fim_middle>",    "<｜fim▁end｜>",
    "<MID>",          "▁<MID>",          "<|code_middle|>", "<|middle|>",
};

// Structure of the harmony format that is to be seen.
const Texts kVisibleTexts = {"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"};

TokenKind kind_of_type(int32_t type) {
  switch (type) {
    case kTypeNormal:
    case kTypeByte:
      return TokenKind::normal;
    case kTypeUnknown:
      return TokenKind::unknown;
    case kTypeControl:
      return TokenKind::control;
    case kTypeUserDefined:
      return TokenKind::user_defined;
    default:
      return TokenKind::unused;
  }
}

bool looks_like_marker(std::string_view text) {
  return text.size() > 4 && text.starts_with("<|") && text.ends_with("|>");
}

}  // namespace

void Vocabulary::Strings::reserve(size_t n, size_t bytes) {
  ends_.reserve(n + 1);
  bytes_.reserve(bytes);
}

void Vocabulary::Strings::add(std::string_view text) {
  bytes_.insert(bytes_.end(), text.begin(), text.end());
  ends_.push_back(bytes_.size());
}

Vocabulary::Vocabulary(std::span<const std::string_view> texts,
                       std::span<const int32_t> token_types) {
  const size_t n = texts.size();
  if (n == 0) {
    throw Error(ErrorKind::bad_file, "EmptyVocabulary", "tokenizer.ggml.tokens: no tokens");
  }
  if (!token_types.empty() && token_types.size() != n) {
    throw Error(ErrorKind::bad_file, "TokenTypesLength",
                fmt::format("tokenizer.ggml.token_type has {} entries, tokenizer.ggml.tokens {}",
                            token_types.size(), n));
  }
  size_t bytes = 0;
  for (std::string_view text : texts) bytes += text.size();
  texts_.reserve(n, bytes);
  pieces_.reserve(n, bytes);
  for (std::string_view text : texts) texts_.add(text);
  kinds_.resize(n, TokenKind::normal);
  index_texts();
  set_kinds(token_types);
  correct_kinds_by_text();
  for (size_t i = 0; i < n; ++i) add_piece(static_cast<TokenId>(i));
}

std::optional<TokenId> Vocabulary::find(std::string_view text) const {
  const TokenId id = slots_[slot_of(text)].id;
  return id < 0 ? std::nullopt : std::optional(id);
}

size_t Vocabulary::slot_of(std::string_view text) const {
  const size_t mask = slots_.size() - 1;
  const size_t hash = std::hash<std::string_view>()(text);
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.id < 0) return i;
    if (slot.hash == static_cast<uint32_t>(hash) && this->text(slot.id) == text) return i;
  }
}

void Vocabulary::index_texts() {
  const size_t n = kinds_.size();
  slots_.resize(std::bit_ceil(2 * n));
  for (size_t i = 0; i < n; ++i) {
    const auto id = static_cast<TokenId>(i);
    if (text(id).empty()) continue;
    const auto hash = static_cast<uint32_t>(std::hash<std::string_view>()(text(id)));
    slots_[slot_of(text(id))] = {hash, id};
  }
}

void Vocabulary::set_kinds(std::span<const int32_t> token_types) {
  for (size_t i = 0; i < kinds_.size(); ++i) {
    if (!token_types.empty()) {
      kinds_[i] = kind_of_type(token_types[i]);
    } else if (looks_like_marker(text(static_cast<TokenId>(i)))) {
      kinds_[i] = TokenKind::control;
    }
  }
}

void Vocabulary::correct_kinds_by_text() {
  const auto set_kind = [&](const Texts& texts, TokenKind kind) {
    for (std::string_view known : texts) {
      if (const auto id = find(known)) kinds_[static_cast<size_t>(*id)] = kind;
    }
  };
  set_kind(kFillTexts, TokenKind::control);
  set_kind(kEndTexts, TokenKind::control);
  set_kind(kVisibleTexts, TokenKind::user_defined);
  for (std::string_view known : kEndTexts) {
    if (const auto id = find(known)) end_tokens_.push_back(*id);
  }
  // In the harmony format <|end|> only closes a message; in Gemma 4's </s> is ordinary.
  const bool calls = find("<|call|>") || find("<|calls|>");
  if ((find("<|return|>") && find("<|call|>")) || (calls && find("<|flush|>"))) {
    drop_end_token("<|end|>", TokenKind::user_defined);
  }
  if (find("<|tool_response>")) drop_end_token("</s>", TokenKind::normal);
  std::sort(end_tokens_.begin(), end_tokens_.end());
}

void Vocabulary::drop_end_token(std::string_view text, TokenKind kind) {
  const auto id = find(text);
  if (!id) return;
  kinds_[static_cast<size_t>(*id)] = kind;
  std::erase(end_tokens_, *id);
}

void Vocabulary::add_piece(TokenId id) {
  switch (kind(id)) {
    case TokenKind::normal:
      pieces_.add(unspell_bytes(text(id)));
      break;
    case TokenKind::control:
    case TokenKind::unknown:
    case TokenKind::user_defined:
      pieces_.add(text(id));
      break;
    case TokenKind::unused:
      pieces_.add("");
      break;
  }
}

}  // namespace maglio

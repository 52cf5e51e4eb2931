// Text to token ids and back.
//
// A language model consumes integers. A Tokenizer is built from the vocabulary and the merge rules
// that a model file carries (byte-level BPE: GPT-2, Llama 3, Qwen, SmolLM), keeps a copy of what it
// needs, and gives llama.cpp's ids on every valid UTF-8 text. On other bytes it never fails: each
// undecodable byte is kept as it is, so decode(encode(x)) == x for every x.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace maglio {

namespace gguf {
class Metadata;
}

using TokenId = int32_t;

// What a tokenizer is made of, as a model file has it. The views are read during from_parts only.
struct TokenizerParts {
  std::vector<std::string_view> vocab = {};   // [vocab_size], in the spelling of the byte alphabet
  std::vector<std::string_view> merges = {};  // "left right", the earliest rule wins
  std::vector<int32_t> token_types = {};      // [vocab_size] GGUF token types, or empty
  std::string pre = "qwen2";                  // name of the pre-tokenizer
  std::optional<TokenId> bos = {};
  std::optional<TokenId> eos = {};
  std::vector<TokenId> more_ends = {};  // further tokens that end a generation (eot, eom, ...)
  std::optional<bool> add_bos = {};     // nullopt: the pre-tokenizer's default
  std::optional<bool> add_eos = {};     // nullopt: no
};

// Immutable after construction: any number of threads may use one Tokenizer.
class Tokenizer {
 public:
  // Text of a control token (<|im_end|>): one id, or ordinary text. Added tokens that are not
  // control tokens (<think>) are one id either way, as in llama.cpp.
  enum class Specials { parse, plain };
  enum class Frame { none, by_policy };      // BOS and EOS as the model file says
  enum class Normalization { none, nfc };    // nfc: what Hugging Face's tokenizer.json of Qwen does
  enum class SpecialText { hidden, shown };  // of control tokens, when ids become text

  struct EncodeOptions {
    Specials specials = Specials::parse;
    Frame frame = Frame::none;
    Normalization normalization = Normalization::none;
  };

  // Throws: Error bad_file (a key is missing, lengths differ, an id is out of range), unsupported
  // (another tokenizer than byte-level BPE).
  static Tokenizer from_gguf(const gguf::Metadata& metadata);
  // Without token types, tokens of the form <|...|> are control tokens.
  static Tokenizer from_parts(const TokenizerParts& parts);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // A prompt as it stands: special tokens parsed, BOS and EOS by the model's policy.
  // Throws, as do the others: Error bad_file UnknownSymbol when the vocabulary lacks a byte.
  std::vector<TokenId> encode(std::string_view text) const;
  // What a chat template wrote: special tokens parsed, nothing added.
  std::vector<TokenId> encode_raw(std::string_view text) const;
  // What a user said: text that looks like a control token stays text, nothing added.
  std::vector<TokenId> encode_plain(std::string_view text) const;
  std::vector<TokenId> encode_with(std::string_view text, const EncodeOptions& options) const;

  // The bytes of the ids, exactly; they need not be valid UTF-8 (see StreamDecoder for text).
  // Throws: Error bad_request TokenOutOfRange.
  std::string decode(std::span<const TokenId> ids, SpecialText special = SpecialText::hidden) const;
  // The bytes of one token; a view into the tokenizer.
  std::string_view piece(TokenId id, SpecialText special = SpecialText::shown) const;

  size_t vocab_size() const;
  // The token with this text in the vocabulary's spelling (that of control tokens is their text).
  std::optional<TokenId> token_id(std::string_view text) const;
  std::optional<TokenId> bos_id() const;
  std::optional<TokenId> eos_id() const;
  bool adds_bos() const;
  bool adds_eos() const;
  // Does it end a generation? By the file's ids and by the well-known texts (<|im_end|>, ...).
  bool is_eos(TokenId id) const;
  std::span<const TokenId> eos_ids() const;  // all of them, ascending
  bool is_control(TokenId id) const;
  // The name of the file's pre-tokenizer if maglio lacks its rules and uses qwen2's instead: ids
  // may then differ from the model's own. For the caller to say once.
  std::optional<std::string> pre_mismatch() const;

 private:
  struct Tables;
  explicit Tokenizer(std::unique_ptr<const Tables> tables);

  std::unique_ptr<const Tables> tables_;
};

// Ids of one stream to valid UTF-8, piece by piece. A token may end inside a character: its bytes
// wait for the next one. Broken sequences become one U+FFFD each. Not thread-safe; the tokenizer
// must outlive it.
class StreamDecoder {
 public:
  using SpecialText = Tokenizer::SpecialText;

  explicit StreamDecoder(const Tokenizer& tokenizer, SpecialText special = SpecialText::hidden)
      : tokenizer_(&tokenizer), special_(special) {}

  // Hands the text that is complete now to sink(std::string_view), if there is any. Returns what a
  // sink that returns bool said, else true.
  template <class Sink>
  bool push(TokenId id, Sink&& sink) {
    return hand_over(add(id), sink);
  }

  // The end of the stream: an unfinished character becomes U+FFFD.
  template <class Sink>
  bool flush(Sink&& sink) {
    return hand_over(finish(), sink);
  }

  // Forgets the held bytes.
  void reset() { held_.clear(); }

 private:
  std::string add(TokenId id);
  std::string finish();

  template <class Sink>
  static bool hand_over(const std::string& text, Sink& sink) {
    if (text.empty()) return true;
    if constexpr (std::is_same_v<std::invoke_result_t<Sink&, std::string_view>, bool>) {
      return sink(std::string_view(text));
    } else {
      sink(std::string_view(text));
      return true;
    }
  }

  const Tokenizer* tokenizer_;
  SpecialText special_;
  std::string held_;  // at most 3 bytes between calls: the start of one character
};

}  // namespace maglio

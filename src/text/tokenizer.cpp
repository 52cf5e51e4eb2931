#include "maglio/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <functional>
#include <limits>

#include "maglio/error.h"
#include "text/bpe.h"
#include "text/byte_alphabet.h"
#include "text/normalize.h"
#include "text/pre_names.h"
#include "text/pretokenizer.h"
#include "text/special_tokens.h"
#include "text/vocabulary.h"

namespace maglio {

struct Tokenizer::Tables {
  explicit Tables(const TokenizerParts& parts);

  Vocabulary vocabulary;
  Bpe bpe;
  PreTokenizer pre;
  SpecialTokens special;        // what Specials::parse looks for
  SpecialTokens always_atomic;  // what it looks for with Specials::plain
  std::optional<std::string> pre_mismatch;
  std::optional<TokenId> bos;
  std::optional<TokenId> eos;
  bool adds_bos = false;
  bool adds_eos = false;
  std::vector<TokenId> ends;  // ascending, each once
};

namespace {

void check_id(const Vocabulary& vocabulary, std::optional<TokenId> id, std::string_view key) {
  if (!id || vocabulary.contains(*id)) return;
  throw Error(
      ErrorKind::bad_file, "TokenOutOfRange",
      fmt::format("{} is {}, but the vocabulary has {} tokens", key, *id, vocabulary.size()));
}

// One call of encode: walks the fragments of a text and remembers chunks that it has met.
class Encoder {
 public:
  Encoder(const PreTokenizer& pre, const Vocabulary& vocabulary, const Bpe& bpe, size_t text_size)
      : pre_(pre),
        vocabulary_(vocabulary),
        bpe_(bpe),
        memory_(std::bit_ceil(std::min(text_size / kBytesPerSlot + 1, kMaxSlots))) {}

  // Requires: the text outlives the encoder.
  void add_text(std::string_view text) {
    for (std::string_view chunk : split_chunks(pre_.rules, text)) add_chunk(chunk);
  }

  void add_nfc_text(std::string_view text) { add_text(normalized_.emplace_back(to_nfc(text))); }

  void add_token(TokenId id) { ids_.push_back(id); }

  std::vector<TokenId> take_ids() { return std::move(ids_); }

 private:
  // A chunk, and where its ids stand in ids_.
  struct Known {
    std::string_view chunk;
    size_t begin = 0;
    size_t size = 0;
  };
  // Words come again and again, long runs do not.
  static constexpr size_t kMaxRemembered = 48;  // [bytes]
  static constexpr size_t kBytesPerSlot = 4;
  static constexpr size_t kMaxSlots = 16384;

  void add_chunk(std::string_view chunk) {
    if (chunk.size() > kMaxRemembered) return encode_chunk(chunk);
    // One slot a hash, the last chunk stays: no text can make the look-up slow.
    Known& known = memory_[std::hash<std::string_view>()(chunk) & (memory_.size() - 1)];
    if (known.chunk == chunk) {
      for (size_t i = 0; i < known.size; ++i) ids_.push_back(ids_[known.begin + i]);
      return;
    }
    const size_t begin = ids_.size();
    encode_chunk(chunk);
    known = {chunk, begin, ids_.size() - begin};
  }

  void encode_chunk(std::string_view chunk) {
    if (pre_.whole_words) {
      if (const auto id = vocabulary_.find(spell_bytes(chunk))) return ids_.push_back(*id);
    }
    bpe_.encode(chunk, scratch_, ids_);
  }

  const PreTokenizer& pre_;
  const Vocabulary& vocabulary_;
  const Bpe& bpe_;
  Bpe::Scratch scratch_;
  std::vector<TokenId> ids_;
  std::vector<Known> memory_;           // a power of two
  std::deque<std::string> normalized_;  // memory_ views into it
};

}  // namespace

Tokenizer::Tables::Tables(const TokenizerParts& parts)
    : vocabulary(parts.vocab, parts.token_types),
      bpe(vocabulary, parts.merges),
      bos(parts.bos),
      eos(parts.eos) {
  if (const auto known = find_pre_tokenizer(parts.pre)) {
    pre = *known;
  } else {
    pre_mismatch = parts.pre;
  }
  check_id(vocabulary, bos, "tokenizer.ggml.bos_token_id");
  check_id(vocabulary, eos, "tokenizer.ggml.eos_token_id");
  if (parts.add_bos.value_or(false) && !bos) {
    throw Error(ErrorKind::bad_file, "MissingBos",
                "tokenizer.ggml.add_bos_token is set, but there is no tokenizer.ggml.bos_token_id");
  }
  if (parts.add_eos.value_or(false) && !eos) {
    throw Error(ErrorKind::bad_file, "MissingEos",
                "tokenizer.ggml.add_eos_token is set, but there is no tokenizer.ggml.eos_token_id");
  }
  adds_bos = bos && parts.add_bos.value_or(pre.add_bos);
  adds_eos = parts.add_eos.value_or(false);

  ends.assign(vocabulary.end_tokens().begin(), vocabulary.end_tokens().end());
  if (eos) ends.push_back(*eos);
  for (TokenId id : parts.more_ends) {
    check_id(vocabulary, id, "an end token of tokenizer.ggml");
    ends.push_back(id);
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());

  for (size_t i = 0; i < vocabulary.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const TokenKind kind = vocabulary.kind(id);
    if (kind == TokenKind::normal || kind == TokenKind::unused) continue;
    if (vocabulary.text(id).empty()) continue;
    special.add(vocabulary.text(id), id);
    if (kind == TokenKind::user_defined) always_atomic.add(vocabulary.text(id), id);
  }
}

Tokenizer Tokenizer::from_parts(const TokenizerParts& parts) {
  return Tokenizer(std::make_unique<const Tables>(parts));
}

Tokenizer::Tokenizer(std::unique_ptr<const Tables> tables) : tables_(std::move(tables)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

std::vector<TokenId> Tokenizer::encode(std::string_view text) const {
  return encode_with(text, {.specials = Specials::parse, .frame = Frame::by_policy});
}

std::vector<TokenId> Tokenizer::encode_raw(std::string_view text) const {
  return encode_with(text, {.specials = Specials::parse});
}

std::vector<TokenId> Tokenizer::encode_plain(std::string_view text) const {
  return encode_with(text, {.specials = Specials::plain});
}

std::vector<TokenId> Tokenizer::encode_with(std::string_view text,
                                            const EncodeOptions& options) const {
  if (text.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    throw Error(ErrorKind::bad_request, "TextTooLong",
                fmt::format("the text has {} bytes, at most 2147483647 can be encoded at once",
                            text.size()));
  }
  const Tables& t = *tables_;
  Encoder encoder(t.pre, t.vocabulary, t.bpe, text.size());
  const auto add_text = [&](std::string_view fragment) {
    // Between special tokens only: ">" and a combining mark after it must not become one character.
    options.normalization == Normalization::nfc ? encoder.add_nfc_text(fragment)
                                                : encoder.add_text(fragment);
  };
  if (options.frame == Frame::by_policy && t.adds_bos) encoder.add_token(*t.bos);
  const SpecialTokens& special = options.specials == Specials::parse ? t.special : t.always_atomic;
  size_t from = 0;
  for (const SpecialTokens::Match& match : special.find(text)) {
    add_text(text.substr(from, match.begin - from));
    encoder.add_token(match.id);
    from = match.begin + match.size;
  }
  add_text(text.substr(from));
  if (options.frame == Frame::by_policy && t.adds_eos) encoder.add_token(*t.eos);
  return encoder.take_ids();
}

std::string Tokenizer::decode(std::span<const TokenId> ids, SpecialText special) const {
  std::string bytes;
  for (TokenId id : ids) bytes.append(piece(id, special));
  return bytes;
}

std::string_view Tokenizer::piece(TokenId id, SpecialText special) const {
  const Vocabulary& vocabulary = tables_->vocabulary;
  if (!vocabulary.contains(id)) {
    throw Error(ErrorKind::bad_request, "TokenOutOfRange",
                fmt::format("token {} is not one of the vocabulary's {}", id, vocabulary.size()));
  }
  const TokenKind kind = vocabulary.kind(id);
  const bool hides = kind == TokenKind::control || kind == TokenKind::unknown;
  return hides && special == SpecialText::hidden ? std::string_view() : vocabulary.piece(id);
}

size_t Tokenizer::vocab_size() const {
  return tables_->vocabulary.size();
}

std::optional<TokenId> Tokenizer::token_id(std::string_view text) const {
  return tables_->vocabulary.find(text);
}

std::optional<TokenId> Tokenizer::bos_id() const {
  return tables_->bos;
}
std::optional<TokenId> Tokenizer::eos_id() const {
  return tables_->eos;
}
bool Tokenizer::adds_bos() const {
  return tables_->adds_bos;
}
bool Tokenizer::adds_eos() const {
  return tables_->adds_eos;
}

bool Tokenizer::is_eos(TokenId id) const {
  return std::binary_search(tables_->ends.begin(), tables_->ends.end(), id);
}

std::span<const TokenId> Tokenizer::eos_ids() const {
  return tables_->ends;
}

bool Tokenizer::is_control(TokenId id) const {
  const Vocabulary& vocabulary = tables_->vocabulary;
  return vocabulary.contains(id) && vocabulary.kind(id) == TokenKind::control;
}

std::optional<std::string> Tokenizer::pre_mismatch() const {
  return tables_->pre_mismatch;
}

}  // namespace maglio

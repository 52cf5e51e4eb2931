// The tokenizer's keys in a model file (GGUF specification, "Tokenizer"; the same in a file that
// holds a vocabulary only).
#include <fmt/format.h>

#include "base/escaped.h"
#include "gguf/metadata.h"
#include "maglio/error.h"
#include "maglio/tokenizer.h"

namespace maglio {
namespace {

constexpr std::string_view kModel = "tokenizer.ggml.model";
constexpr std::string_view kPre = "tokenizer.ggml.pre";
constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kMerges = "tokenizer.ggml.merges";
constexpr std::string_view kScores = "tokenizer.ggml.scores";
constexpr std::string_view kTokenType = "tokenizer.ggml.token_type";
constexpr std::string_view kBos = "tokenizer.ggml.bos_token_id";
constexpr std::string_view kEos = "tokenizer.ggml.eos_token_id";
constexpr std::string_view kAddBos = "tokenizer.ggml.add_bos_token";
constexpr std::string_view kAddEos = "tokenizer.ggml.add_eos_token";
// End of turn, end of message, and the fill-in-the-middle roles at which llama.cpp stops too.
constexpr std::string_view kMoreEnds[] = {
    "tokenizer.ggml.eot_token_id",     "tokenizer.ggml.eom_token_id",
    "tokenizer.ggml.fim_pad_token_id", "tokenizer.ggml.fim_rep_token_id",
    "tokenizer.ggml.fim_sep_token_id",
};

template <class T>
T require(std::optional<T> value, std::string_view key) {
  if (value) return std::move(*value);
  throw Error(ErrorKind::bad_file, "MissingMetadata",
              fmt::format("{} is missing, so there is no tokenizer in this file", key));
}

std::optional<TokenId> token(const gguf::Metadata& metadata,
                             std::string_view key,
                             size_t vocab_size) {
  const auto id = metadata.uint(key);
  if (!id) return std::nullopt;
  if (*id < vocab_size) return static_cast<TokenId>(*id);
  throw Error(ErrorKind::bad_file, "TokenOutOfRange",
              fmt::format("{} is {}, but {} has {} entries", key, *id, kTokens, vocab_size));
}

}  // namespace

Tokenizer Tokenizer::from_gguf(const gguf::Metadata& metadata) {
  const std::string_view model = require(metadata.string(kModel), kModel);
  if (model != "gpt2") {
    throw Error(
        ErrorKind::unsupported, "UnsupportedTokenizer",
        fmt::format("{} is '{}'; maglio has byte-level BPE ('gpt2') only", kModel, escaped(model)));
  }
  TokenizerParts parts;
  parts.vocab = require(metadata.strings(kTokens), kTokens);
  parts.merges = require(metadata.strings(kMerges), kMerges);
  const size_t n = parts.vocab.size();
  if (const auto types = metadata.ints(kTokenType)) {
    // from_parts takes an empty list as "no types", a file that has an empty one is wrong.
    if (types->size() != n) {
      throw Error(
          ErrorKind::bad_file, "TokenTypesLength",
          fmt::format("{} has {} entries, {} has {}", kTokenType, types->size(), kTokens, n));
    }
    parts.token_types = *types;
  }
  // BPE does not read the scores, but a list of another length says that the file is damaged.
  const gguf::Value* scores = metadata.find(kScores);
  if (scores && (!scores->is_array() || scores->count != n)) {
    throw Error(ErrorKind::bad_file, "ScoresLength",
                fmt::format("{} has {} entries, {} has {}", kScores, scores->count, kTokens, n));
  }
  parts.pre = metadata.string(kPre).value_or("");
  parts.bos = token(metadata, kBos, n);
  parts.eos = token(metadata, kEos, n);
  for (std::string_view key : kMoreEnds) {
    if (const auto id = token(metadata, key, n)) parts.more_ends.push_back(*id);
  }
  parts.add_bos = metadata.boolean(kAddBos);
  parts.add_eos = metadata.boolean(kAddEos);
  return from_parts(parts);
}

}  // namespace maglio

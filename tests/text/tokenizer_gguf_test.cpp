// A tokenizer from a file's metadata, made by hand (case B113 and its neighbours).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gguf/reader.h"
#include "maglio/error.h"
#include "maglio/tokenizer.h"
#include "support/gguf_builder.h"

namespace maglio {
namespace {

using Ids = std::vector<TokenId>;
using Texts = std::vector<std::string>;
using test::GgufBuilder;

GgufBuilder small_file() {
  GgufBuilder file;
  file.string("general.architecture", "qwen3")
      .string("tokenizer.ggml.model", "gpt2")
      .string("tokenizer.ggml.pre", "qwen2")
      .u32("tokenizer.ggml.eos_token_id", 0);
  return file;
}

GgufBuilder with_tokens() {
  GgufBuilder file = small_file();
  file.strings("tokenizer.ggml.tokens", {"<|im_end|>", "h", "i", "hi"})
      .i32s("tokenizer.ggml.token_type", {3, 1, 1, 1});
  return file;
}

GgufBuilder whole_file() {
  GgufBuilder file = with_tokens();
  file.strings("tokenizer.ggml.merges", Texts{"h i"});
  return file;
}

Tokenizer load(const GgufBuilder& file) {
  const auto bytes = file.bytes();
  return Tokenizer::from_gguf(gguf::File::parse(bytes).metadata());
}

std::string message_of(ErrorKind kind, std::string_view code, const GgufBuilder& file) {
  try {
    load(file);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    EXPECT_EQ(error.code(), code) << error.message();
    return error.message();
  }
  ADD_FAILURE() << "no Error " << code;
  return "";
}

TEST(TokenizerFile, AVocabularyOnlyFileIsEnough) {
  const Tokenizer tokenizer = load(whole_file());
  EXPECT_EQ(tokenizer.vocab_size(), 4u);
  EXPECT_EQ(tokenizer.encode("hi<|im_end|>"), (Ids{3, 0}));
  EXPECT_EQ(tokenizer.eos_id(), 0);
  EXPECT_EQ(tokenizer.pre_mismatch(), std::nullopt);
}

TEST(TokenizerFile, TheTokenizerOutlivesTheFile) {
  auto bytes = whole_file().bytes();
  const Tokenizer tokenizer = [&] {
    const gguf::File file = gguf::File::parse(bytes);
    return Tokenizer::from_gguf(file.metadata());
  }();
  std::fill(bytes.begin(), bytes.end(), std::byte{0xAA});
  bytes = {};
  EXPECT_EQ(tokenizer.encode("hi<|im_end|>h"), (Ids{3, 0, 1}));
  EXPECT_EQ(tokenizer.decode(Ids{3, 1}), "hih");
  EXPECT_EQ(tokenizer.token_id("<|im_end|>"), 0);
}

TEST(TokenizerFile, WithoutTypesMarkersAreControlTokens) {
  GgufBuilder file = small_file();
  file.strings("tokenizer.ggml.tokens", {"<|im_end|>", "h", "i", "<|any|>"})
      .strings("tokenizer.ggml.merges", {});
  EXPECT_EQ(load(file).encode("h<|any|>i"), (Ids{1, 3, 2}));
}

TEST(TokenizerFile, AMissingKeyIsNamed) {
  EXPECT_NE(message_of(ErrorKind::bad_file, "MissingMetadata", with_tokens())
                .find("tokenizer.ggml.merges"),
            std::string::npos);
  EXPECT_NE(message_of(ErrorKind::bad_file, "MissingMetadata", small_file())
                .find("tokenizer.ggml.tokens"),
            std::string::npos);
  GgufBuilder empty;
  empty.string("general.architecture", "qwen3");
  EXPECT_NE(message_of(ErrorKind::bad_file, "MissingMetadata", empty).find("tokenizer.ggml.model"),
            std::string::npos);
}

TEST(TokenizerFile, NoTokensIsAnError) {
  GgufBuilder file = small_file();
  file.strings("tokenizer.ggml.tokens", {}).strings("tokenizer.ggml.merges", {});
  message_of(ErrorKind::bad_file, "TokenOutOfRange", file);  // the end token comes first
  GgufBuilder no_ids;
  no_ids.string("tokenizer.ggml.model", "gpt2")
      .strings("tokenizer.ggml.tokens", {})
      .strings("tokenizer.ggml.merges", {});
  message_of(ErrorKind::bad_file, "EmptyVocabulary", no_ids);
}

TEST(TokenizerFile, ArraysOfDifferentLengthsAreRefusedWithBothLengths) {
  GgufBuilder types = small_file();
  types.strings("tokenizer.ggml.tokens", Texts(100, "x"))
      .strings("tokenizer.ggml.merges", {})
      .i32s("tokenizer.ggml.token_type", {1, 1, 1});
  std::string message = message_of(ErrorKind::bad_file, "TokenTypesLength", types);
  EXPECT_NE(message.find("has 3 entries"), std::string::npos) << message;
  EXPECT_NE(message.find("has 100"), std::string::npos) << message;

  GgufBuilder scores = whole_file();
  scores.f32s("tokenizer.ggml.scores", {0, 0, 0});
  message = message_of(ErrorKind::bad_file, "ScoresLength", scores);
  EXPECT_NE(message.find("has 3 entries"), std::string::npos) << message;
  EXPECT_NE(message.find("has 4"), std::string::npos) << message;

  GgufBuilder none = small_file();
  none.strings("tokenizer.ggml.tokens", {"a"})
      .strings("tokenizer.ggml.merges", {})
      .i32s("tokenizer.ggml.token_type", {});
  message_of(ErrorKind::bad_file, "TokenTypesLength", none);
}

TEST(TokenizerFile, IdsOutOfRangeAreRefusedByName) {
  for (const char* key : {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.eot_token_id"}) {
    GgufBuilder file = whole_file();
    file.u32(key, 4);
    const std::string message = message_of(ErrorKind::bad_file, "TokenOutOfRange", file);
    EXPECT_NE(message.find(key), std::string::npos) << message;
  }
  GgufBuilder wrapped = whole_file();
  wrapped.u32("tokenizer.ggml.bos_token_id", 0xFFFFFFFF);
  message_of(ErrorKind::bad_file, "TokenOutOfRange", wrapped);
}

TEST(TokenizerFile, AnotherKindOfTokenizerIsRefusedByName) {
  GgufBuilder file;
  file.string("tokenizer.ggml.model", "llama").strings("tokenizer.ggml.tokens", {"a"});
  const std::string message = message_of(ErrorKind::unsupported, "UnsupportedTokenizer", file);
  EXPECT_NE(message.find("'llama'"), std::string::npos) << message;
}

TEST(TokenizerFile, AMissingPreTokenizerIsTheDefaultOne) {
  GgufBuilder file;
  file.string("tokenizer.ggml.model", "gpt2")
      .strings("tokenizer.ggml.tokens", {"1", "12", "123", "2", "3"})
      .strings("tokenizer.ggml.merges", {"1 2", "12 3"});
  const Tokenizer tokenizer = load(file);
  EXPECT_EQ(tokenizer.pre_mismatch(), std::nullopt);
  EXPECT_EQ(tokenizer.encode("12312"), (Ids{2, 1})) << "digits by three";
}

TEST(TokenizerFile, EndTokensOfEveryKeyEndAGeneration) {
  GgufBuilder file = whole_file();
  file.u32("tokenizer.ggml.eot_token_id", 1).u32("tokenizer.ggml.eom_token_id", 2);
  const Tokenizer tokenizer = load(file);
  for (TokenId id : {0, 1, 2}) EXPECT_TRUE(tokenizer.is_eos(id));
  EXPECT_FALSE(tokenizer.is_eos(3));
}

}  // namespace
}  // namespace maglio

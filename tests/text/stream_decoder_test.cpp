#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "maglio/tokenizer.h"
#include "text/byte_alphabet.h"

namespace maglio {
namespace {

// Token i spells texts[i]; the last two are a control token and a user-defined one.
Tokenizer tokenizer_of(const std::vector<std::string>& texts) {
  std::vector<std::string> spellings;
  for (const std::string& text : texts) spellings.push_back(spell_bytes(text));
  TokenizerParts parts;
  parts.vocab.assign(spellings.begin(), spellings.end());
  parts.vocab.push_back("<|im_end|>");
  parts.vocab.push_back("<think>");
  parts.token_types.assign(texts.size(), 1);
  parts.token_types.push_back(3);
  parts.token_types.push_back(4);
  return Tokenizer::from_parts(parts);
}

// What the sink got, call by call.
struct Pieces {
  std::vector<std::string> texts;
  void operator()(std::string_view text) { texts.emplace_back(text); }
};

using Texts = std::vector<std::string>;

TEST(StreamDecoder, ACharacterOverSeveralTokensComesOutWhole) {
  const Tokenizer tokenizer = tokenizer_of({"a\xF0", "\x9F\x91", "\xA8!"});
  StreamDecoder decoder(tokenizer);
  Pieces pieces;
  for (TokenId id : {0, 1, 2}) decoder.push(id, pieces);
  decoder.flush(pieces);
  EXPECT_EQ(pieces.texts, (Texts{"a", "👨!"}));
}

TEST(StreamDecoder, TheStreamGoesOnAfterABrokenSequence) {
  const Tokenizer tokenizer = tokenizer_of({"\xF0", "Hello", " world"});
  StreamDecoder decoder(tokenizer);
  Pieces pieces;
  for (TokenId id : {0, 1, 2}) decoder.push(id, pieces);
  decoder.flush(pieces);
  EXPECT_EQ(pieces.texts, (Texts{"�Hello", " world"}));
}

TEST(StreamDecoder, AnUnfinishedEndIsFlushedAsOneReplacement) {
  const Tokenizer tokenizer = tokenizer_of({"\xF0\x9F", "\x91"});
  StreamDecoder decoder(tokenizer);
  Pieces pieces;
  decoder.push(0, pieces);
  decoder.push(1, pieces);
  EXPECT_TRUE(pieces.texts.empty());
  decoder.flush(pieces);
  EXPECT_EQ(pieces.texts, (Texts{"�"}));
  decoder.flush(pieces);
  EXPECT_EQ(pieces.texts.size(), 1u) << "nothing is left";
}

TEST(StreamDecoder, ResetForgetsTheHeldBytes) {
  const Tokenizer tokenizer = tokenizer_of({"\xF0\x9F", "ok"});
  StreamDecoder decoder(tokenizer);
  Pieces pieces;
  decoder.push(0, pieces);
  decoder.reset();
  decoder.push(1, pieces);
  decoder.flush(pieces);
  EXPECT_EQ(pieces.texts, (Texts{"ok"}));
}

TEST(StreamDecoder, ControlTokensAreHiddenUnlessAskedFor) {
  const Tokenizer tokenizer = tokenizer_of({"a"});
  Pieces pieces;
  StreamDecoder hiding(tokenizer);
  for (TokenId id : {0, 1, 2}) hiding.push(id, pieces);
  EXPECT_EQ(pieces.texts, (Texts{"a", "<think>"}));
  StreamDecoder showing(tokenizer, StreamDecoder::SpecialText::shown);
  showing.push(1, pieces);
  EXPECT_EQ(pieces.texts.back(), "<|im_end|>");
}

TEST(StreamDecoder, AnySinkWillDoAndItsAnswerComesBack) {
  const Tokenizer tokenizer = tokenizer_of({"a", "\xF0"});
  StreamDecoder decoder(tokenizer);
  std::string text;
  EXPECT_TRUE(decoder.push(0, [&](std::string_view piece) { text += piece; }));
  EXPECT_FALSE(decoder.push(0, [&](std::string_view) { return false; }));
  EXPECT_TRUE(decoder.push(1, [&](std::string_view) { return false; })) << "nothing to hand over";
  EXPECT_EQ(text, "a");
}

TEST(StreamDecoder, JoinedPiecesAreTheRepairedText) {
  std::vector<std::string> bytes;
  for (unsigned byte = 0; byte < 256; ++byte) bytes.emplace_back(1, static_cast<char>(byte));
  const Tokenizer tokenizer = tokenizer_of(bytes);
  uint32_t state = 7;
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int i = 0; i < 60; ++i) {
      state = state * 1664525 + 1013904223;
      // Mostly bytes that start or go on with a character, so that many sequences are nearly right.
      const uint32_t pick = state >> 24;
      text.push_back(static_cast<char>(pick < 100 ? 0x80 + pick % 64 : pick));
    }
    std::string joined;
    StreamDecoder decoder(tokenizer);
    const auto sink = [&](std::string_view piece) {
      EXPECT_TRUE(is_valid_utf8(piece));
      joined += piece;
    };
    for (char byte : text) decoder.push(static_cast<uint8_t>(byte), sink);
    decoder.flush(sink);
    ASSERT_EQ(joined, replace_broken_utf8(text));
  }
}

}  // namespace
}  // namespace maglio

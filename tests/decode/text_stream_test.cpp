#include "decode/text_stream.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/byte_vocabulary.h"

namespace maglio {
namespace {

// Every byte a token of its own.
std::vector<TokenId> bytes(std::string_view text) {
  std::vector<TokenId> ids;
  for (char c : text) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

struct Streamed {
  std::string text;
  std::vector<std::string> pieces;
  std::optional<size_t> matched;
};

Streamed stream(const std::vector<TokenId>& ids, std::vector<std::string> stops = {}) {
  const Tokenizer tokenizer = test::ByteVocabulary{}.tokenizer();
  TextStream stream(StreamDecoder(tokenizer), StopStrings(std::move(stops)));
  Streamed result;
  auto take = [&](const std::string& piece) {
    result.text += piece;
    if (!piece.empty()) result.pieces.push_back(piece);
  };
  for (TokenId id : ids) {
    take(stream.push(id));
    if (stream.matched()) break;
  }
  take(stream.flush());
  result.matched = stream.matched();
  return result;
}

TEST(TextStream, CharactersSplitOverTokensComeWhole_B30) {
  const std::string text = "𠀀👨‍👩‍👧①";
  const Streamed s = stream(bytes(text));
  EXPECT_EQ(s.text, text);
  for (const std::string& piece : s.pieces) {
    EXPECT_EQ(piece.find("\xEF\xBF\xBD"), std::string::npos);
    EXPECT_NE(static_cast<unsigned char>(piece.front()) & 0xC0, 0x80)
        << "starts inside a character";
  }
}

TEST(TextStream, GoesOnAfterInvalidBytes_B31) {
  EXPECT_EQ(stream(bytes("\xF0Hello world")).text, "\xEF\xBF\xBDHello world");
}

TEST(TextStream, EndInsideACharacterIsNotFatal_B32) {
  EXPECT_EQ(stream(bytes("\xF0")).text, "\xEF\xBF\xBD");
}

TEST(TextStream, StopStringOverSeveralTokens_B34) {
  const Streamed s = stream(bytes("ABCDEFGHIJK"), {"DEFGHIJ"});
  EXPECT_EQ(s.text, "ABC");
  EXPECT_EQ(s.matched, 0u);
}

TEST(TextStream, HeldTextIsReleasedAtTheEnd_B35) {
  EXPECT_EQ(stream(bytes("ABCDEFG"), {"DEFGHIJ"}).text, "ABCDEFG");
  EXPECT_EQ(stream(bytes("ABCDEFGX"), {"DEFGHIJ"}).text, "ABCDEFGX");
}

TEST(TextStream, StopStringOfManyByteCharacters) {
  const Streamed s = stream(bytes("ein Tag 日本 mehr"), {"x", "日本"});
  EXPECT_EQ(s.text, "ein Tag ");
  EXPECT_EQ(s.matched, 1u);
  // The first bytes of 本 alone are no match: 未 begins with the same two.
  EXPECT_EQ(stream(bytes("日未"), {"日本"}).text, "日未");
}

}  // namespace
}  // namespace maglio

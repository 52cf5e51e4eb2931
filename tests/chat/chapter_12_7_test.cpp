// Statements of the chapter's section 12.7 that no other test pins (docs/coverage.md).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "chat/text_tokenizer.h"
#include "decode/language_model.h"
#include "model/transformer.h"
#include "support/error_code.h"
#include "support/scripted_chat.h"
#include "support/scripted_model.h"
#include "support/small_chat.h"

namespace maglio {

namespace contract {

// The tokenizer's half, whole, and with one entry taken away.
struct WholeTokenizer {
  std::vector<TokenId> encode_with(std::string_view, const Tokenizer::EncodeOptions&) const;
  std::optional<TokenId> token_id(std::string_view) const;
  std::optional<TokenId> bos_id() const;
  bool adds_bos() const;
  bool is_eos(TokenId) const;
};
struct WithoutEncoder : WholeTokenizer {
  void encode_with() = delete;
};
struct WithoutMarkers : WholeTokenizer {
  void token_id() = delete;
};
struct WithoutEnd : WholeTokenizer {
  void is_eos() = delete;
};
struct WithoutDecoder : WholeTokenizer {};
StreamDecoder stream_decoder(const WholeTokenizer&);
void stream_decoder(const WithoutDecoder&) = delete;

}  // namespace contract

namespace {

using namespace test::scripted;
using test::small::SmallChat;

// A scripted model with one entry of the contract taken away.
struct WithoutAllLogits : test::ScriptedModel {
  void forward_step_all_logits() = delete;
};
struct WithoutStep : test::ScriptedModel {
  void forward_step() = delete;
};
struct WithoutCaches : test::ScriptedModel {
  void new_cache() = delete;
};
struct WithBatch : test::ScriptedModel {
  Logits forward(std::span<const SpanOf<test::ScriptedCache>>) { return {nullptr, {0, 0}}; }
};

TEST(LanguageModelChapter, AllLogitsAreRequiredAndTheBatchIsOptional) {
  EXPECT_TRUE(LanguageModel<test::ScriptedModel>);
  EXPECT_FALSE(LanguageModel<WithoutAllLogits>);
  EXPECT_FALSE(LanguageModel<WithoutStep>);
  EXPECT_FALSE(LanguageModel<WithoutCaches>);
  EXPECT_FALSE(BatchLanguageModel<test::ScriptedModel>);
  EXPECT_TRUE(BatchLanguageModel<WithBatch>);
  EXPECT_TRUE(BatchLanguageModel<Transformer>);
}

TEST(TextTokenizerChapter, EncodesDecodesAndKnowsWhatEndsAnAnswer) {
  EXPECT_TRUE(chat::TextTokenizer<Tokenizer>);
  EXPECT_TRUE(chat::TextTokenizer<contract::WholeTokenizer>);
  EXPECT_FALSE(chat::TextTokenizer<contract::WithoutEncoder>);
  EXPECT_FALSE(chat::TextTokenizer<contract::WithoutMarkers>);
  EXPECT_FALSE(chat::TextTokenizer<contract::WithoutEnd>);
  EXPECT_FALSE(chat::TextTokenizer<contract::WithoutDecoder>);
}

TEST(ConversationChapter, EachPieceIsOutBeforeTheNextStep) {
  Chat chat;
  auto talk = chat.start();
  chat.model.read(script("abc"));
  std::vector<size_t> steps;
  talk.send("Hi", [&](std::string_view) {
    steps.push_back(chat.model.calls.size());
    return true;
  });
  EXPECT_EQ(steps, (std::vector<size_t>{1, 2, 3}));
}

TEST(ConversationChapter, EveryAnswerBeginsWithAFreshDecoder) {
  Chat chat;
  chat.options.max_tokens = 2;
  auto talk = chat.start();
  chat.model.read(bytes("a\xf0"));  // the limit falls into a character
  EXPECT_EQ(talk.send("A", kIgnore).text, "a\xef\xbf\xbd");
  talk.set_max_tokens({});
  chat.model.read(script("\x9f\x98\x80."));  // what would have completed it
  EXPECT_EQ(talk.send("B", kIgnore).text, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd.");
}

TEST(ConversationChapter, TheWholeConversationMustFit) {
  Chat chat;
  chat.options.context_size = 200;
  auto talk = chat.start();
  size_t n_turns = 0;
  const auto next = [&] {
    chat.model.read(script("ok"));
    talk.send("Hi", kIgnore);
    ++n_turns;
  };
  std::string code = "none";
  while (code == "none" && n_turns < 100) code = test::code_of(next);
  EXPECT_EQ(code, "ContextFull");
  EXPECT_GT(n_turns, 2u);
  EXPECT_EQ(talk.messages().size(), 2 * n_turns);
  EXPECT_LE(talk.tokens().size(), 200u);
}

TEST(ConversationChapter, ThoseOfOneModelDoNotTouchEachOther) {
  const auto tell = [](SmallChat& chat, uint64_t seed) {
    chat.options.sampler.seed = seed;
    return chat.talk();
  };
  SmallChat chat;
  auto alone = tell(chat, 1);
  const Ids first = alone.send("Hello.", kIgnore).ids, second = alone.send("Why?", kIgnore).ids;

  auto one = tell(chat, 1), other = tell(chat, 2);
  EXPECT_EQ(one.send("Hello.", kIgnore).ids, first);
  EXPECT_NE(other.send("Goodbye!", kIgnore).ids, first);
  EXPECT_EQ(one.send("Why?", kIgnore).ids, second);
}

TEST(ConversationChapter, TheSeedCountsOnceAndNotOnceATurn) {
  SmallChat chat;
  auto goes_on = chat.talk(), seeded_again = chat.talk();
  EXPECT_EQ(goes_on.send("Hello.", kIgnore).ids, seeded_again.send("Hello.", kIgnore).ids);
  seeded_again.set_sampler(chat.options.sampler);
  EXPECT_NE(goes_on.send("Hello.", kIgnore).ids, seeded_again.send("Hello.", kIgnore).ids);
}

}  // namespace
}  // namespace maglio

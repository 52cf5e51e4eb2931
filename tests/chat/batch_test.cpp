// Conversations that answer together.
#include "chat/batch.h"

#include <gtest/gtest.h>

#include <deque>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "support/scripted_chat.h"
#include "support/small_chat.h"

namespace maglio::chat {
namespace {

using test::small::kIgnore;
using test::small::SmallChat;
using Ids = std::vector<TokenId>;
using Talk = test::small::Talk;
using Turn = BatchTurn<Transformer, Tokenizer>;

std::vector<BatchOutcome> together(const std::vector<Turn>& turns) {
  return send_batch<Transformer, Tokenizer>(turns);
}

std::string code_in(const std::exception_ptr& error) {
  if (!error) return "none";
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    return e.code();
  } catch (const std::exception& e) {
    return e.what();
  }
}
std::string code_of(auto&& act) {
  try {
    act();
  } catch (...) {
    return code_in(std::current_exception());
  }
  return "none";
}

// Settings of eight conversations that differ in everything.
std::vector<ConversationOptions> eight_options() {
  std::vector<ConversationOptions> all(8);
  for (size_t i = 0; i < all.size(); ++i) {
    ConversationOptions& o = all[i];
    o.context_size = 400;
    o.max_tokens = 5 + 7 * i;
    if (i % 2 == 0) o.sampler = {.temperature = 1.5f, .top_k = 40, .seed = i};
    if (i == 3) o.sampler.repeat_penalty = 1.3f;
    if (i == 4) o.stop.strings = {"e", "a"};
    if (i == 5) o.system = "Be brief.";
    if (i == 6) o.thinking = Thinking::off;
    if (i == 7) o.context_size = 200;  // ends before the second answer does
  }
  return all;
}

std::string question(size_t i, size_t turn) {
  return std::string(3 * i + 1, static_cast<char>('a' + i)) + " and " + std::to_string(turn) + "?";
}

void expect_alone_as_together(SmallChat chat) {
  for (const CacheType type : {CacheType::f16, CacheType::q8_0}) {
    std::deque<Talk> alone, joined;
    std::set<TokenId> said;
    for (const ConversationOptions& options : eight_options()) {
      chat.options = options;
      alone.push_back(chat.talk(type));
      chat.options.speculation.enabled = joined.size() % 3 == 0;  // changes no bit either
      joined.push_back(chat.talk(type));
    }
    for (size_t turn = 0; turn < 2; ++turn) {
      std::vector<std::string> questions, streamed(8);
      for (size_t i = 0; i < 8; ++i) questions.push_back(question(i, turn));
      std::vector<Turn> turns;
      for (size_t i = 0; i < 8; ++i) {
        turns.push_back({&joined[i], questions[i], [&streamed, i](std::string_view piece) {
                           streamed[i] += piece;
                           return true;
                         }});
      }
      const auto outcomes = together(turns);
      for (size_t i = 0; i < 8; ++i) {
        const Reply expected = alone[i].send(questions[i], kIgnore);
        ASSERT_EQ(code_in(outcomes[i].error), "none") << i;
        const Reply& reply = *outcomes[i].reply;
        EXPECT_EQ(reply.ids, expected.ids) << i;
        said.insert(reply.ids.begin(), reply.ids.end());
        EXPECT_EQ(reply.text, expected.text) << i;
        EXPECT_EQ(streamed[i], expected.text) << i;
        EXPECT_EQ(reply.finish, expected.finish) << i;
        EXPECT_EQ(reply.stop_string, expected.stop_string) << i;
        EXPECT_EQ(reply.cached_tokens, expected.cached_tokens) << i;
        EXPECT_TRUE(std::ranges::equal(joined[i].tokens(), alone[i].tokens()));
        EXPECT_TRUE(std::ranges::equal(joined[i].messages(), alone[i].messages()));
        EXPECT_EQ(joined[i].cache().length(), alone[i].cache().length());
      }
    }
    EXPECT_GT(said.size(), 50u);  // so it was not the same token again and again
  }
}

TEST(Batch, EachConversationAnswersAsItWouldAlone) {
  expect_alone_as_together(SmallChat());
}

TEST(Batch, ConversationsWithAMixtureShareItsExpertsAndAnswerAsAlone) {
  expect_alone_as_together(SmallChat(Architecture::qwen3moe));
}

TEST(Batch, WhatGoesWrongInOneStaysThere) {
  SmallChat chat;
  chat.options.max_tokens = 12;
  std::deque<Talk> talks;
  for (int i = 0; i < 4; ++i) talks.push_back(chat.talk());
  talks[2].send_tokens_reuse(Ids{1}, kIgnore);  // its messages are unknown
  const std::string too_long(500, 'x');
  const TextSink broken = [](std::string_view) -> bool { throw std::runtime_error("gone"); };
  const auto outcomes = together({{&talks[0], too_long, kIgnore},
                                  {&talks[1], "Hello.", broken},
                                  {&talks[2], "Hello.", kIgnore},
                                  {&talks[3], "Hello.", kIgnore}});
  EXPECT_EQ(code_in(outcomes[0].error), "ContextFull");
  EXPECT_EQ(code_in(outcomes[1].error), "gone");
  EXPECT_EQ(code_in(outcomes[2].error), "UnknownHistory");
  EXPECT_EQ(code_in(outcomes[3].error), "none");
  const Ids expected = chat.talk().send("Hello.", kIgnore).ids;
  EXPECT_EQ(outcomes[3].reply->ids, expected);
  // The others are as they were.
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_FALSE(outcomes[i].reply);
    EXPECT_TRUE(talks[i].messages().empty());
    EXPECT_TRUE(talks[i].tokens().empty());
  }
  EXPECT_EQ(talks[0].send("Hello.", kIgnore).ids, expected);
}

TEST(Batch, RefusesWhatCannotShareAPass) {
  SmallChat chat, other;
  Talk a = chat.talk(), b = chat.talk(), q8 = chat.talk(CacheType::q8_0), foreign = other.talk();
  EXPECT_EQ(code_of([&] { together({}); }), "EmptyBatch");
  EXPECT_EQ(code_of([&] { together({{&a, "x", kIgnore}, {&a, "y", kIgnore}}); }),
            "MismatchedKvCaches");
  EXPECT_EQ(
      code_of([&] { together({{&a, "x", kIgnore}, {&b, "x", kIgnore}, {&q8, "y", kIgnore}}); }),
      "MismatchedKvCaches");
  EXPECT_EQ(code_of([&] { together({{&a, "x", kIgnore}, {&foreign, "y", kIgnore}}); }),
            "MixedModels");
  struct : Constraint {
    void mask(std::span<float>) override {}
    void accept(TokenId) override {}
  } constraint;
  EXPECT_EQ(code_of([&] {
              together({{&a, "x", kIgnore, &constraint}, {&b, "y", kIgnore, &constraint}});
            }),
            "SharedConstraint");
  EXPECT_TRUE(a.tokens().empty());
}

TEST(Batch, AModelWithoutABatchEntryAnswersOnlyAlone) {
  using test::scripted::Chat;
  Chat chat;
  auto a = chat.start(), b = chat.start();
  using ScriptedTurn = BatchTurn<test::ScriptedModel, Tokenizer>;
  const std::vector<ScriptedTurn> two = {{&a, "x", kIgnore}, {&b, "y", kIgnore}};
  EXPECT_EQ(code_of([&] { send_batch<test::ScriptedModel, Tokenizer>(two); }),
            "BatchDecodeUnsupported");
  EXPECT_TRUE(a.tokens().empty());
  chat.model.read(test::scripted::script("ok"));
  const std::vector<ScriptedTurn> one = {{&a, "x", kIgnore}};
  EXPECT_EQ((send_batch<test::ScriptedModel, Tokenizer>(one)[0].reply->text), "ok");
}

TEST(Batch, AConstraintBindsItsOwnConversation) {
  struct Only : Constraint {
    explicit Only(TokenId id) : token(id) {}
    void mask(std::span<float> logits) override {
      for (size_t i = 0; i < logits.size(); ++i) {
        if (i != static_cast<size_t>(token)) logits[i] = -std::numeric_limits<float>::infinity();
      }
    }
    void accept(TokenId) override { ++accepted; }
    TokenId token;
    int accepted = 0;
  };
  SmallChat chat;
  chat.options.max_tokens = 4;
  Talk a = chat.talk(), b = chat.talk();
  Only only_x('x');
  const auto outcomes = together({{&a, "Hello.", kIgnore, &only_x}, {&b, "Hello.", kIgnore}});
  EXPECT_EQ(outcomes[0].reply->text, "xxxx");
  EXPECT_EQ(only_x.accepted, 4);
  EXPECT_EQ(outcomes[1].reply->ids, chat.talk().send("Hello.", kIgnore).ids);
}

}  // namespace
}  // namespace maglio::chat

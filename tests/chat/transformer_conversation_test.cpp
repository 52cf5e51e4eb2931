// The conversation over a real Transformer, small and random.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "chat/conversation.h"
#include "maglio/maglio.h"
#include "model/kv_cache.h"
#include "model/transformer.h"
#include "support/small_chat.h"
#include "support/successor_model.h"
#include "support/temp_dir.h"

namespace maglio::chat {
namespace {

using namespace test::small;

// What the sampler makes of logits that were computed without any cache.
Ids without_cache(Transformer& model, CacheType type, Ids tokens, Sampler& sampler, size_t n) {
  const size_t before = tokens.size();
  for (size_t i = 0; i < n; ++i) {
    tokens.push_back(sampler.next(model.forward_last_logits(tokens, type), tokens));
  }
  return {tokens.begin() + static_cast<std::ptrdiff_t>(before), tokens.end()};
}

TEST(TransformerConversation, TurnsOnAKeptCacheEqualComputingItAllAnew_B100) {
  for (CacheType type : {CacheType::f16, CacheType::q8_0}) {
    SmallChat loaded;
    Talk talk = loaded.talk(type);
    Sampler sampler({.temperature = 1, .seed = 7}, loaded.model.kernels());
    for (const char* text : {"Hello.", "And then?", "Why\nso?"}) {
      const Reply reply = talk.send(text, kIgnore);
      if (reply.finish == FinishReason::stop) FAIL() << "choose another seed: the answer ended";
      const auto tokens = talk.tokens();
      const Ids prompt(tokens.begin(),
                       tokens.begin() + static_cast<std::ptrdiff_t>(reply.prompt_tokens));
      EXPECT_EQ(reply.ids, without_cache(loaded.model, type, prompt, sampler, reply.ids.size()));
    }
  }
}

TEST(TransformerConversation, TheSameQuestionGetsTheSameAnswer_B99) {
  SmallChat loaded;
  const Reply first = loaded.talk().send("Hello.", kIgnore);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(loaded.talk().send("Hello.", kIgnore).ids, first.ids);
  }
}

TEST(TransformerConversation, ARefusedTurnDoesNotChangeLaterOnes_B102) {
  SmallChat loaded;
  Talk straight = loaded.talk();
  straight.send("Hello.", kIgnore);
  const Ids expected = straight.send("And then?", kIgnore).ids;

  Talk refused = loaded.talk();
  EXPECT_THROW(refused.send(std::string(500, 'x'), kIgnore), Error);
  refused.send("Hello.", kIgnore);
  EXPECT_THROW(refused.send(std::string(500, 'x'), kIgnore), Error);
  EXPECT_EQ(refused.send("And then?", kIgnore).ids, expected);
}

TEST(TransformerConversation, AForkSharesAllFullPagesAndAddsAtMostTwo) {
  for (CacheType type : {CacheType::f16, CacheType::q8_0}) {
    SmallChat chat;
    chat.options.max_tokens = 3;
    Talk straight = chat.talk(type), talk = chat.talk(type);
    const std::string long_question(250, 'x');
    for (Talk* t : {&straight, &talk}) t->send(long_question, kIgnore);
    const KvCache& cache = talk.cache();
    const size_t bytes = cache.family_bytes(), n_full = cache.length() / kPageKeys;
    ASSERT_GE(n_full, 4u);

    Talk other = talk.fork();
    EXPECT_EQ(cache.family_bytes(), bytes);  // nothing is copied yet
    const Reply of_fork = other.send("And?", kIgnore);
    ASSERT_LE(of_fork.computed_tokens() + of_fork.ids.size(), kPageKeys);
    EXPECT_LE(cache.family_bytes(), bytes + 2 * cache.block_bytes());
    const size_t shared = cache.bytes() + other.cache().bytes() - cache.family_bytes();
    EXPECT_GE(shared, n_full * cache.block_bytes());
    // Neither notices the other.
    EXPECT_EQ(talk.send("And?", kIgnore).ids, of_fork.ids);
    EXPECT_EQ(straight.send("And?", kIgnore).ids, of_fork.ids);
    EXPECT_EQ(talk.send("So?", kIgnore).ids, straight.send("So?", kIgnore).ids);
  }
}

// Memory that a reuse shares is the cache itself: a prompt that begins like the last one takes
// none.
TEST(TransformerConversation, AReusedPromptTakesNoMemory) {
  SmallChat chat;
  chat.options.max_tokens = 1;
  Talk talk = chat.talk();
  const Ids prompt(300, 'x');
  talk.send_tokens_reuse(prompt, kIgnore);
  const size_t bytes = talk.cache().family_bytes();
  EXPECT_EQ(talk.send_tokens_reuse(prompt, kIgnore).computed_tokens(), 1u);
  EXPECT_EQ(talk.cache().family_bytes(), bytes);
}

// The same answer, whether the beginning was computed, kept, given over or read again.
TEST(TransformerConversation, ReusedBeginningsGiveTheSameAnswer_B100) {
  for (CacheType type : {CacheType::f16, CacheType::q8_0}) {
    SmallChat chat;
    chat.options.sampler = {};
    Ids p(90, 'p'), p_q = p, p_x = p;
    for (int i = 0; i < 40; ++i) p_q.push_back('a' + i % 7), p_x.push_back('A' + i % 5);
    const Ids fresh = chat.talk(type).send_tokens_reuse(p_q, kIgnore).ids;
    Talk grown = chat.talk(type);
    grown.send_tokens_reuse(p, kIgnore);
    const Reply of_grown = grown.send_tokens_reuse(p_q, kIgnore);
    EXPECT_EQ(of_grown.ids, fresh);
    EXPECT_GE(of_grown.cached_tokens, p.size());
    Talk turned = chat.talk(type);
    turned.send_tokens_reuse(p_x, kIgnore);
    const Reply of_turned = turned.send_tokens_reuse(p_q, kIgnore);
    EXPECT_EQ(of_turned.ids, fresh);
    EXPECT_EQ(of_turned.cached_tokens, p.size());
    Talk warm = chat.talk(type);
    warm.init_warm(turned.take_cache());
    EXPECT_EQ(warm.send_tokens_reuse(p_q, kIgnore).ids, fresh);
    EXPECT_EQ(warm.reused_prefix(), p_q.size() - 1);
    EXPECT_EQ(turned.send_tokens_reuse(p_q, kIgnore).ids, fresh);  // it has begun anew
    EXPECT_EQ(turned.reused_prefix(), 0u);
  }
}

TEST(TransformerConversation, AWarmStartFromAnotherKindOfCacheIsRefused) {
  SmallChat chat;
  Talk talk = chat.talk(), q8 = chat.talk(CacheType::q8_0);
  try {
    talk.init_warm(q8.take_cache());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "MismatchedKvCaches");
  }
}

// A thought that is deleted later makes no difference but for its tokens: what follows is what a
// conversation would say that has never had it.
TEST(TransformerConversation, AnswersAfterADeletedThoughtAreThoseOfAHistoryWithoutIt) {
  SmallChat chat;
  chat.options.sampler = {};
  Talk talk = chat.talk();
  const std::string thought = "<think>\nlong and winding\n</think>\n\n";
  struct Script : Constraint {
    explicit Script(Ids script) : ids(std::move(script)) {}
    void mask(std::span<float> logits) override {
      for (size_t i = 0; i < logits.size(); ++i) {
        if (i != static_cast<size_t>(ids[at])) logits[i] = -std::numeric_limits<float>::infinity();
      }
    }
    void accept(TokenId) override { ++at; }
    Ids ids;
    size_t at = 0;
  };
  Ids said = chat.tokenizer.encode_plain(thought + "Paris.");
  said.push_back(*chat.tokenizer.token_id("<|im_end|>"));
  talk.set_max_tokens(said.size());
  Script script(said);
  const Reply first = talk.send("Capital of France?", kIgnore, &script);
  ASSERT_EQ(first.text, thought + "Paris.");
  ASSERT_EQ(talk.messages().back().content, "Paris.");
  talk.set_max_tokens(20);
  const Reply second = talk.send("And of Italy?", kIgnore);
  EXPECT_GE(second.cached_tokens, first.prompt_tokens);  // at most the deleted turn's own tokens

  const auto history = {Message{Role::user, "Capital of France?"},
                        Message{Role::assistant, "Paris."}, Message{Role::user, "And of Italy?"}};
  const Rendered prompt = Template(Family::chatml).render_messages(history, Thinking::on);
  EXPECT_EQ(chat.talk().send_rendered_reuse(prompt, kIgnore).ids, second.ids);
}

TEST(PublicConversation, TalksThroughTheHandle) {
  const test::TempDir dir;
  test::SuccessorModel().answers("Paris").write(dir / "m.gguf");
  const Model model = Model::load(dir / "m.gguf");
  maglio::Conversation chat(model, {.system = "Be brief.", .cache = CacheFormat::q8_0});
  std::string streamed;
  const Reply reply = chat.send("Capital of France?", [&](std::string_view piece) {
    streamed += piece;
    return true;
  });
  EXPECT_EQ(streamed, "Paris");
  EXPECT_EQ(reply.finish, FinishReason::stop);
  EXPECT_TRUE(chat.has_answer());
  EXPECT_EQ(chat.regenerate(kIgnore).text, "Paris");
  maglio::Conversation moved = std::move(chat);
  EXPECT_EQ(moved.send("Again?", kIgnore).text, "Paris");
  moved.clear();
  EXPECT_TRUE(moved.tokens().empty());
}

TEST(PublicConversation, OutlivesTheModelsOtherHandles) {
  const test::TempDir dir;
  test::SuccessorModel().answers("ok").write(dir / "m.gguf");
  std::optional<Model> model = Model::load(dir / "m.gguf");
  maglio::Conversation chat(*model);
  model.reset();
  EXPECT_EQ(chat.send("x", kIgnore).text, "ok");
}

TEST(PublicConversation, RefusesNativelyAModelWithoutATemplateItKnows) {
  const test::TempDir dir;
  test::SuccessorModel known;
  known.chat_template = "[INST] {{ content }} [/INST]";
  known.write(dir / "m.gguf");
  const Model model = Model::load(dir / "m.gguf");
  try {
    maglio::Conversation chat(model, {.chat_template = "native"});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "UnknownChatTemplate");
  }
}

TEST(PublicConversation, TakesChatMlWhereTheFileHasOnlyItsMarkers) {
  const test::TempDir dir;
  test::SuccessorModel silent;
  silent.chat_template = "";
  silent.answers("ok").write(dir / "m.gguf");
  maglio::Conversation chat(Model::load(dir / "m.gguf"));
  EXPECT_EQ(chat.send("x", kIgnore).text, "ok");
}

}  // namespace
}  // namespace maglio::chat

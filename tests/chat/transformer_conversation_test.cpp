// The conversation over a real Transformer, small and random.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "chat/conversation.h"
#include "gguf/reader.h"
#include "maglio/maglio.h"
#include "model/kv_cache.h"
#include "model/transformer.h"
#include "support/successor_model.h"
#include "support/synthetic_model.h"
#include "support/temp_dir.h"

namespace maglio::chat {
namespace {

using Ids = std::vector<TokenId>;
using Talk = Conversation<Transformer, Tokenizer>;

const TextSink kIgnore = [](std::string_view) { return true; };

struct Loaded {
  std::vector<std::byte> bytes;
  Transformer model;
  Tokenizer tokenizer;

  static Loaded make() {
    test::SyntheticModel synthetic;
    synthetic.config = test::tiny_config(Architecture::qwen3);
    std::vector<std::byte> bytes = synthetic.bytes();
    gguf::File file = gguf::File::parse(bytes);
    Tokenizer tokenizer = Tokenizer::from_gguf(file.metadata());
    Transformer model = Transformer::load(std::move(file));
    return {std::move(bytes), std::move(model), std::move(tokenizer)};
  }

  Talk talk(CacheType type = CacheType::f16) {
    ConversationOptions options{.context_size = 400, .max_tokens = 20};
    options.sampler = {.temperature = 1, .seed = 7};
    return {model, tokenizer, Settings{ChatTemplate(Template(Family::chatml)), options, type}};
  }
};

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
    Loaded loaded = Loaded::make();
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
  Loaded loaded = Loaded::make();
  const Reply first = loaded.talk().send("Hello.", kIgnore);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(loaded.talk().send("Hello.", kIgnore).ids, first.ids);
  }
}

TEST(TransformerConversation, ARefusedTurnDoesNotChangeLaterOnes_B102) {
  Loaded loaded = Loaded::make();
  Talk straight = loaded.talk();
  straight.send("Hello.", kIgnore);
  const Ids expected = straight.send("And then?", kIgnore).ids;

  Talk refused = loaded.talk();
  EXPECT_THROW(refused.send(std::string(500, 'x'), kIgnore), Error);
  refused.send("Hello.", kIgnore);
  EXPECT_THROW(refused.send(std::string(500, 'x'), kIgnore), Error);
  EXPECT_EQ(refused.send("And then?", kIgnore).ids, expected);
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

TEST(PublicConversation, RefusesAModelWithoutATemplateItKnows) {
  const test::TempDir dir;
  test::SuccessorModel known;
  known.chat_template = "[INST] {{ content }} [/INST]";
  known.write(dir / "m.gguf");
  const Model model = Model::load(dir / "m.gguf");
  try {
    maglio::Conversation chat(model);
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

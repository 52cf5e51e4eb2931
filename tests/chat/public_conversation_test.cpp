// The public Conversation: everything through the handle, and the examples of its headers.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "maglio/maglio.h"
#include "support/successor_model.h"
#include "support/temp_dir.h"

namespace maglio {
namespace {

const TextSink kIgnore = [](std::string_view) { return true; };

class PublicConversations : public testing::Test {
 protected:
  PublicConversations() { test::SuccessorModel().answers("Paris").write(dir_ / "m.gguf"); }

  test::TempDir dir_;
};

TEST_F(PublicConversations, ExamplesOfTheHeadersDoWhatTheySay) {
  auto model = maglio::Model::load(dir_ / "m.gguf");
  std::string out;
  {
    maglio::Conversation chat(model, {.system = "Be brief.", .sampler = {.temperature = 0.7f}});
    chat.send("Capital of France?", [&](std::string_view piece) {
      out += piece;
      return true;
    });
    EXPECT_EQ(out, "Paris");
  }
  maglio::Conversation alice(model), bob(model);
  const maglio::BatchTurn turns[] = {{&alice, "Hello.", kIgnore}, {&bob, "Why?", kIgnore}};
  for (const maglio::BatchOutcome& outcome : maglio::send_batch(turns)) {
    ASSERT_TRUE(outcome.reply);
    EXPECT_EQ(outcome.reply->text, "Paris");
  }
  EXPECT_EQ(bob.messages().size(), 2u);
}

TEST_F(PublicConversations, UndoForkSaveAndLoad) {
  const Model model = Model::load(dir_ / "m.gguf");
  Conversation chat(model, {.system = "S"});
  const Reply first = chat.send("A", kIgnore);
  EXPECT_EQ(first.computed_tokens(), first.prompt_tokens);
  const Reply second = chat.send("B", kIgnore);
  EXPECT_EQ(second.cached_tokens, first.prompt_tokens + 5);
  Conversation fork = chat.fork();
  EXPECT_TRUE(chat.undo_turn());
  EXPECT_EQ(chat.messages().size(), 2u);
  EXPECT_EQ(fork.messages().size(), 4u);
  fork.save(dir_ / "c");
  chat.load(dir_ / "c");
  EXPECT_EQ(chat.messages().size(), 4u);
  EXPECT_TRUE(std::ranges::equal(chat.tokens(), fork.tokens()));

  test::SuccessorModel().answers("Rome").write(dir_ / "other.gguf");
  Conversation other(Model::load(dir_ / "other.gguf"));
  try {
    other.load(dir_ / "c");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "ConversationOfAnotherModel");
  }
}

TEST_F(PublicConversations, ACopyOfTheModelFileIsTheSameModel) {
  std::filesystem::copy(dir_ / "m.gguf", dir_ / "copy.gguf");
  {
    Conversation chat(Model::load(dir_ / "m.gguf"), {.file = dir_ / "c"});
    chat.send("A", kIgnore);
  }
  Conversation again(Model::load(dir_ / "copy.gguf"), {.file = dir_ / "c"});
  EXPECT_EQ(again.messages().size(), 2u);
  EXPECT_GT(again.send("B", kIgnore).cached_tokens, 0u);
}

TEST_F(PublicConversations, SettingsTakeEffectWithTheNextTurn) {
  const Model model = Model::load(dir_ / "m.gguf");
  Conversation chat(model);
  chat.set_max_tokens(2);
  EXPECT_EQ(chat.send("A", kIgnore).text, "Pa");
  chat.set_max_tokens({});
  chat.set_stop({.strings = {"is"}});
  EXPECT_EQ(chat.regenerate(kIgnore).text, "Par");
  chat.set_system("S");
  chat.set_thinking(Thinking::off);
  chat.set_sampler({.temperature = 1, .seed = 3});
  EXPECT_EQ(chat.options().system, "S");
  EXPECT_EQ(chat.options().sampler.seed, 3u);
  EXPECT_EQ(chat.send("B", kIgnore).text, "Par");
}

TEST_F(PublicConversations, AConstraintSaysWhichTokensAnAnswerMayHave) {
  struct WithoutI : Constraint {
    void mask(std::span<float> logits) override {
      logits['i'] = -std::numeric_limits<float>::infinity();
    }
    void accept(TokenId token) override { text += static_cast<char>(token); }
    std::string text;
  };
  Conversation chat(Model::load(dir_ / "m.gguf"), {.max_tokens = 4});
  WithoutI constraint;
  const Reply reply = chat.send("A", kIgnore, &constraint);
  EXPECT_TRUE(reply.text.starts_with("Par")) << reply.text;
  EXPECT_EQ(reply.text.find('i'), std::string::npos);
  EXPECT_TRUE(constraint.text.starts_with("Par"));
  EXPECT_EQ(chat.regenerate(kIgnore).text, "Pari");
}

TEST_F(PublicConversations, WithoutAnAnswerThereIsNothingToGiveAgain) {
  Conversation chat(Model::load(dir_ / "m.gguf"));
  try {
    chat.regenerate(kIgnore);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "NoAnswer");
  }
}

}  // namespace
}  // namespace maglio

// Guessing ahead in conversations: the same answers, over turns, repetitions and forks.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "maglio/maglio.h"
#include "support/successor_model.h"
#include "support/temp_dir.h"

namespace maglio {
namespace {

const TextSink kIgnore = [](std::string_view) { return true; };

class SpeculatingConversation : public testing::Test {
 protected:
  SpeculatingConversation() { test::SuccessorModel().answers("The_quickbrownfxjmps").write(path_); }
  ConversationOptions options(bool speculate) const {
    return {.max_tokens = 60,
            .speculation = {.enabled = speculate, .references = {"The_quickbrownfxjmps"}}};
  }

  test::TempDir dir_;
  const std::filesystem::path path_ = dir_.path() / "model.gguf";
};

// Everything that a caller can see of a talk.
std::vector<std::string> talk(const Model& model,
                              const ConversationOptions& options,
                              SpeculationStats* sum = nullptr) {
  std::vector<std::string> seen;
  Conversation chat(model, options);
  const auto note = [&](const Reply& reply) {
    seen.push_back(reply.text + " " + std::to_string(reply.prompt_tokens) + " " +
                   std::to_string(reply.cached_tokens) + " " + std::to_string(reply.ids.size()) +
                   " " + std::string(to_string(reply.finish)));
    EXPECT_EQ(reply.speculation.has_value(), options.speculation.enabled);
    if (sum == nullptr) return;
    sum->sources[0].accepted += reply.speculation->accepted();
    sum->verify_steps += reply.speculation->verify_steps;
  };
  for (const char* question : {"Hello.", "And then?", "Again!"}) note(chat.send(question, kIgnore));
  note(chat.regenerate(kIgnore));
  Conversation other = chat.fork();
  note(other.send("There?", kIgnore));
  note(chat.send("Here?", kIgnore));
  chat.undo_turn();
  note(chat.send("Once more.", kIgnore));
  chat.clear();
  note(chat.send("Anew.", kIgnore));
  return seen;
}

TEST_F(SpeculatingConversation, SaysAndReusesTheSameOverTurnsForksAndRepetitions) {
  const Model model = Model::load(path_, {.n_threads = 1});
  SpeculationStats sum;
  EXPECT_EQ(talk(model, options(true), &sum), talk(model, options(false)));
  EXPECT_GT(sum.accepted(), 40u);
}

TEST_F(SpeculatingConversation, AStopStringInsideADraftIsTheSameStop_B146) {
  const Model model = Model::load(path_, {.n_threads = 1});
  for (bool speculate : {false, true}) {
    ConversationOptions o = options(speculate);
    o.stop.strings = {"zzz", "ownf"};
    Conversation chat(model, o);
    for (int turn = 0; turn < 3; ++turn) {
      const Reply reply = chat.send("Hello.", kIgnore);
      EXPECT_EQ(reply.text, "The_quickbr");
      EXPECT_EQ(reply.stop_string, 1u);
      EXPECT_EQ(reply.finish, FinishReason::stop);
      EXPECT_TRUE(turn < 2 || !speculate || reply.speculation->accepted() > 0);
    }
  }
}

TEST_F(SpeculatingConversation, AClientThatHasEnoughInsideADraftGetsNoMore) {
  const Model model = Model::load(path_, {.n_threads = 1});
  Conversation chat(model, options(true));
  chat.send("Hello.", kIgnore);
  std::string got;
  const Reply reply = chat.send("Hello.", [&](std::string_view piece) {
    got += piece;
    return got.size() < 9;
  });
  EXPECT_EQ(got, "The_quick");
  EXPECT_EQ(reply.text, got);
  EXPECT_EQ(reply.finish, FinishReason::cancelled);
}

}  // namespace
}  // namespace maglio

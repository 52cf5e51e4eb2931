#include "decode/generate.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "support/scripted_model.h"

namespace maglio {
namespace {

using Ids = std::vector<TokenId>;
using test::ScriptedCache;
using test::ScriptedModel;

constexpr TokenId kEnd = 9;

TEST(Generate, ScriptedModelIsALanguageModelWithoutABatch) {
  static_assert(LanguageModel<ScriptedModel>);
  static_assert(!BatchLanguageModel<ScriptedModel>);
}

TEST(Generate, KeepsTheStopToken) {
  ScriptedModel model(10, {4, 5, kEnd, 6});
  ScriptedCache cache = model.new_cache(100);
  EXPECT_EQ(generate_greedy(model, cache, Ids{1, 2, 3}, 50, kEnd), (Ids{4, 5, kEnd}));
}

TEST(Generate, LimitIsTheSmallerOfWhatIsAskedAndTheRoom_B96) {
  ScriptedModel model(10, {4});
  ScriptedCache small = model.new_cache(64);
  const Ids prompt(57, 1);
  EXPECT_EQ(generate_greedy(model, small, prompt, 100).size(), 7u);
  ScriptedCache again = model.new_cache(64);
  EXPECT_EQ(generate_greedy(model, again, prompt, 3).size(), 3u);
  ScriptedCache none = model.new_cache(64);
  EXPECT_EQ(generate_greedy(model, none, prompt, 0).size(), 0u);
}

TEST(Generate, FullContextIsAnErrorAndOneFreePlaceIsOneToken_B95) {
  ScriptedModel model(10, {4});
  ScriptedCache cache = model.new_cache(64);
  EXPECT_EQ(generate_greedy(model, cache, Ids(63, 1), 100).size(), 1u);
  for (size_t n : {64u, 200u}) {
    ScriptedCache full = model.new_cache(64);
    model.calls.clear();
    try {
      generate_greedy(model, full, Ids(n, 1), 100);
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::context_full);
      EXPECT_EQ(error.code(), "ContextFull");
      EXPECT_NE(error.message().find(std::to_string(n)), std::string::npos);
      EXPECT_NE(error.message().find("64"), std::string::npos);
    }
    EXPECT_TRUE(model.calls.empty());  // before any work
  }
}

TEST(Generate, FeedsThePromptOnceAndThenOneTokenAStep) {
  ScriptedModel model(10, {4, 5, 6});
  ScriptedCache cache = model.new_cache(100);
  generate_greedy(model, cache, Ids{1, 2, 3}, 3);
  EXPECT_EQ(model.calls, (std::vector<Ids>{{1, 2, 3}, {4}, {5}}));  // 6 is nobody's past yet
  EXPECT_EQ(cache.length(), 5u);
}

// Cutting a long prompt into passes is the model's business.
TEST(Generate, ALongPromptIsOneStep) {
  ScriptedModel model(10, {4});
  ScriptedCache cache = model.new_cache(2000);
  const Ids prompt(1031, 1);
  EXPECT_EQ(generate_greedy(model, cache, prompt, 1), (Ids{4}));
  ASSERT_EQ(model.calls.size(), 1u);
  EXPECT_EQ(model.calls[0].size(), 1031u);
}

struct Run {
  FinishReason finish;
  Ids tokens;
};

Run run(Verdict last, size_t max_tokens) {
  ScriptedModel model(10, {4, 5, 6, 7, 8});
  ScriptedCache cache = model.new_cache(100);
  Ids tokens = {1};
  Sampler greedy({}, model.kernels());
  const FinishReason finish =
      generate(Sequence<ScriptedModel>{model, cache, tokens, greedy}, max_tokens,
               [&](TokenId id) { return id == 6 ? last : Verdict::go_on; });
  return {finish, tokens};
}

// A prompt of 1200 tokens, and who is told of it.
struct LongPrompt {
  ScriptedModel model{10, Ids(8, 4)};
  ScriptedCache cache = model.new_cache(5000);
  Sampler sampler{{}, model.kernels()};
  Ids tokens = Ids(1200, 1);
  std::vector<std::pair<size_t, size_t>> told = {};

  FinishReason read(size_t n_passes_wanted) {
    return generate(Stream<ScriptedModel>{{model, cache, tokens, sampler},
                                          2,
                                          [](TokenId) { return Verdict::go_on; },
                                          [this, n_passes_wanted](size_t n_read, size_t n_all) {
                                            told.emplace_back(n_read, n_all);
                                            return told.size() < n_passes_wanted;
                                          }});
  }
};

TEST(Generate, ALongPromptIsToldOfPassByPass) {
  LongPrompt prompt;
  EXPECT_EQ(prompt.read(99), FinishReason::length);
  EXPECT_EQ(prompt.told,
            (std::vector<std::pair<size_t, size_t>>{{512, 1200}, {1024, 1200}, {1200, 1200}}));
  EXPECT_EQ(prompt.tokens.size(), 1202u);
  ASSERT_EQ(prompt.model.calls.size(), 4u);
  EXPECT_EQ(prompt.model.calls[0].size(), 512u);
}

TEST(Generate, APromptCanBeCutShortBetweenPassesAndReadOnLater) {
  LongPrompt prompt;
  EXPECT_EQ(prompt.read(2), FinishReason::cancelled);
  EXPECT_EQ(prompt.tokens.size(), 1200u) << "nothing was sampled";
  EXPECT_EQ(prompt.cache.length(), 1024u);
  EXPECT_EQ(prompt.read(99), FinishReason::length);
  EXPECT_EQ(prompt.told.back(), (std::pair<size_t, size_t>{176, 176}));
  EXPECT_EQ(prompt.tokens.size(), 1202u);
}

TEST(Generate, VerdictDecidesWhetherTheTokenStays) {
  EXPECT_EQ(run(Verdict::end_with, 10).tokens, (Ids{1, 4, 5, 6}));
  EXPECT_EQ(run(Verdict::end_with, 10).finish, FinishReason::stop);
  EXPECT_EQ(run(Verdict::end_without, 10).tokens, (Ids{1, 4, 5}));
  EXPECT_EQ(run(Verdict::end_without, 10).finish, FinishReason::stop);
  EXPECT_EQ(run(Verdict::cancel, 10).tokens, (Ids{1, 4, 5, 6}));
  EXPECT_EQ(run(Verdict::cancel, 10).finish, FinishReason::cancelled);
}

TEST(Generate, ExactTokenCounts_B93) {
  for (size_t n : {0u, 1u, 2u, 3u}) {
    EXPECT_EQ(run(Verdict::go_on, n).tokens.size(), 1 + n);
    EXPECT_EQ(run(Verdict::go_on, n).finish, FinishReason::length);
  }
}

TEST(Generate, ContinuesASequenceThatTheCacheKnows) {
  ScriptedModel model(10, {4, 5, 6, 7});
  ScriptedCache cache = model.new_cache(100);
  Ids tokens = {1, 2};
  Sampler greedy({}, model.kernels());
  const Sequence<ScriptedModel> sequence{model, cache, tokens, greedy};
  const auto go_on = [](TokenId) { return Verdict::go_on; };
  generate(sequence, 2, go_on);
  generate(sequence, 2, go_on);
  EXPECT_EQ(tokens, (Ids{1, 2, 4, 5, 6, 7}));
  EXPECT_EQ(model.calls, (std::vector<Ids>{{1, 2}, {4}, {5}, {6}}));
}

}  // namespace
}  // namespace maglio

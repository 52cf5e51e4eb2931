// Statements of the chapter's section 12.6 that no other test pins (docs/coverage.md).
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "decode/generate.h"
#include "decode/sampler.h"
#include "maglio/error.h"
#include "support/scripted_model.h"
#include "support/test_kernels.h"

namespace maglio {
namespace {

using Ids = std::vector<TokenId>;

// How often the better of two tokens comes, of 20,000; their logits are log 3 apart.
double share_of_the_better(float temperature) {
  Sampler sampler({.temperature = temperature, .seed = 7}, test::test_kernels());
  int better = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<float> logits = {0.0f, std::log(3.0f)};
    better += sampler.next(logits, {}) == 1 ? 1 : 0;
  }
  return better / 20000.0;
}

TEST(SamplerChapter, TemperatureDividesTheLogits) {
  EXPECT_NEAR(share_of_the_better(1.0f), 3.0 / 4, 0.015);
  EXPECT_NEAR(share_of_the_better(0.5f), 9.0 / 10, 0.015) << "below 1 it sharpens";
  EXPECT_NEAR(share_of_the_better(2.0f), 0.634, 0.015) << "above 1 it flattens: 1 / (1 + 3^-1/2)";
  EXPECT_NEAR(share_of_the_better(100.0f), 0.503, 0.015);
}

// How many of 40 tokens are left, of which the first is `lead` more likely than the others, by log.
size_t left_by_top_p(float lead) {
  Sampler sampler({.temperature = 1, .top_p = 0.89f, .seed = 7}, test::test_kernels());
  std::set<TokenId> seen;
  for (int i = 0; i < 4000; ++i) {
    std::vector<float> logits(40, 0.0f);
    logits[0] = lead;
    seen.insert(sampler.next(logits, {}));
  }
  return seen.size();
}

TEST(SamplerChapter, TopPKeepsFewOfAConfidentDistributionAndManyOfAFlatOne) {
  EXPECT_EQ(left_by_top_p(8), 1u) << "the first has 0.987 for itself";
  EXPECT_EQ(left_by_top_p(0), 36u) << "36 of 40 are 0.9";
}

TEST(GenerateChapter, PenaltiesSeeThePromptToo) {
  const auto first_token = [](Ids prompt) {
    test::ScriptedModel model(10, {4});  // its logit is 20, all others 0
    test::ScriptedCache cache = model.new_cache(100);
    Sampler penalising({.presence_penalty = 30}, model.kernels());
    generate(Sequence<test::ScriptedModel>{model, cache, prompt, penalising}, 1,
             [](TokenId) { return Verdict::go_on; });
    return prompt.back();
  };
  EXPECT_EQ(first_token({1, 2}), 4);
  EXPECT_EQ(first_token({1, 4}), 0) << "what the prompt says is in the window";
}

// Fails at its n-th step.
class FailingModel : public test::ScriptedModel {
 public:
  FailingModel(size_t fails_at, Ids script)
      : ScriptedModel(10, std::move(script)), left_(fails_at) {}
  std::span<float> forward_step(test::ScriptedCache& cache,
                                std::span<const TokenId> ids,
                                size_t position) {
    if (left_ == 0) throw Error(ErrorKind::io, "Broken", "a step fails");
    --left_;
    return ScriptedModel::forward_step(cache, ids, position);
  }
  void mend() { left_ = 1000; }

 private:
  size_t left_;
};

TEST(GenerateChapter, AFailingStepLeavesWhatWasKeptAndCanBeContinued) {
  FailingModel model(3, {4, 5, 6, 7});
  test::ScriptedCache cache = model.new_cache(100);
  Ids tokens = {1, 2};
  Sampler greedy({}, model.kernels());
  const Sequence<FailingModel> sequence{model, cache, tokens, greedy};
  const auto go_on = [](TokenId) { return Verdict::go_on; };
  EXPECT_THROW(generate(sequence, 10, go_on), Error);
  EXPECT_EQ(tokens, (Ids{1, 2, 4, 5, 6}));
  EXPECT_EQ(cache.length(), 4u) << "the failed step was not stored";
  model.mend();
  generate(sequence, 1, go_on);
  EXPECT_EQ(tokens, (Ids{1, 2, 4, 5, 6, 7}));
}

}  // namespace
}  // namespace maglio

#include "decode/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "base/random.h"
#include "maglio/error.h"
#include "support/test_kernels.h"

namespace maglio {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
using Ids = std::vector<int32_t>;

std::vector<float> logs(std::vector<double> probabilities) {
  std::vector<float> logits;
  for (double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

int32_t sample(const SamplerConfig& config, std::vector<float> logits, const Ids& history = {}) {
  return Sampler(config, test::test_kernels()).next(logits, history);
}

// How often each id comes in n draws from the same logits.
std::map<int32_t, int> frequencies(const SamplerConfig& config,
                                   const std::vector<float>& logits,
                                   int n) {
  Sampler sampler(config, test::test_kernels());
  std::map<int32_t, int> seen;
  for (int i = 0; i < n; ++i) {
    std::vector<float> copy = logits;
    ++seen[sampler.next(copy, {})];
  }
  return seen;
}

std::set<int32_t> survivors(const SamplerConfig& config, const std::vector<float>& logits) {
  std::set<int32_t> ids;
  for (const auto& [id, count] : frequencies(config, logits, 3000)) ids.insert(id);
  return ids;
}

std::string code_of(const SamplerConfig& config, std::vector<float> logits) {
  try {
    sample(config, std::move(logits));
  } catch (const Error& error) {
    return error.code();
  }
  return "none";
}

// The whole chapter as plainly as it can be said: sort everything, add in long double.
int32_t plain_full_sort(const SamplerConfig& c,
                        std::vector<float> logits,
                        const Ids& history,
                        float uniform) {
  Ids window = history;
  if (c.repeat_last_n >= 0 && window.size() > static_cast<size_t>(c.repeat_last_n)) {
    window.erase(window.begin(), window.end() - c.repeat_last_n);
  }
  for (int32_t id : std::set<int32_t>(window.begin(), window.end())) {
    float& l = logits[static_cast<size_t>(id)];
    const auto count = static_cast<float>(std::count(window.begin(), window.end(), id));
    l = l > 0 ? l / c.repeat_penalty : l * c.repeat_penalty;
    l -= count * c.frequency_penalty + c.presence_penalty;
  }
  Ids order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
  });
  if (c.is_greedy()) return order.front();
  if (c.top_k > 0) order.resize(std::min(order.size(), static_cast<size_t>(c.top_k)));
  std::vector<long double> p;
  const float best = logits[static_cast<size_t>(order.front())];
  for (int32_t id : order) {
    const float score = (logits[static_cast<size_t>(id)] - best) / c.temperature;
    p.push_back(std::exp(score));
  }
  auto sum = [&] { return std::accumulate(p.begin(), p.end(), 0.0L); };
  if (c.top_p < 1) {
    const long double wanted = c.top_p * sum();
    long double cumulative = 0;
    size_t keep = 0;
    while (keep < p.size() && cumulative < wanted) cumulative += p[keep++];
    p.resize(std::max<size_t>(keep, 1));
  }
  if (c.min_p > 0) {
    size_t keep = 1;
    while (keep < p.size() && p[keep] >= c.min_p * p[0]) ++keep;
    p.resize(keep);
  }
  const long double target = static_cast<long double>(uniform) * sum();
  long double cumulative = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    cumulative += p[i];
    if (target < cumulative) return order[i];
  }
  return order[p.size() - 1];
}

TEST(Sampler, DefaultsArePinned) {
  const SamplerConfig c;
  EXPECT_EQ(c.temperature, 0);
  EXPECT_EQ(c.top_k, 0);
  EXPECT_EQ(c.top_p, 1);
  EXPECT_EQ(c.min_p, 0);
  EXPECT_EQ(c.repeat_penalty, 1);
  EXPECT_EQ(c.frequency_penalty, 0);
  EXPECT_EQ(c.presence_penalty, 0);
  EXPECT_EQ(c.repeat_last_n, 64);
  EXPECT_EQ(c.seed, 0u);
  EXPECT_TRUE(c.is_greedy());
  EXPECT_FALSE(SamplerConfig{.temperature = 0.1f}.is_greedy());
}

TEST(Sampler, EqualsAPlainFullSortOnAThousandRandomCases) {
  std::mt19937 random(20261129);
  auto real = [&](float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
  };
  auto whole = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int round = 0; round < 1000; ++round) {
    const int vocab = round % 10 == 0 ? 20000 : whole(2, 700);
    SamplerConfig c;
    c.temperature = whole(0, 9) == 0 ? 0 : real(0.05f, 3);
    c.top_k = whole(0, 2) == 0 ? whole(-1, 0) : whole(1, vocab + 5);
    c.top_p = whole(0, 2) == 0 ? 1 : real(0.01f, 0.999f);
    c.min_p = whole(0, 2) == 0 ? 0 : real(0.0f, 0.5f);
    c.repeat_penalty = whole(0, 1) == 0 ? 1 : real(0.8f, 1.5f);
    c.frequency_penalty = whole(0, 1) == 0 ? 0 : real(-0.5f, 0.5f);
    c.presence_penalty = whole(0, 1) == 0 ? 0 : real(-0.5f, 0.5f);
    c.repeat_last_n = whole(-1, 40);
    c.seed = static_cast<uint64_t>(round);
    // Every third case is full of ties.
    std::vector<float> logits(static_cast<size_t>(vocab));
    for (float& l : logits) l = round % 3 == 0 ? static_cast<float>(whole(-4, 4)) : real(-12, 12);
    Ids history;
    for (int i = whole(0, 60); i > 0; --i) history.push_back(whole(0, vocab - 1));

    Sampler sampler(c, test::test_kernels());
    Random draws(c.seed);
    for (int step = 0; step < 5; ++step) {
      std::vector<float> copy = logits;
      const float u = c.is_greedy() ? 0 : draws.uniform();
      const int32_t expected = plain_full_sort(c, logits, history, u);
      ASSERT_EQ(sampler.next(copy, history), expected) << "round " << round << " step " << step;
      history.push_back(expected);
    }
  }
}

TEST(Sampler, SameSeedSameStoryAnotherSeedAnother) {
  auto story = [](uint64_t seed) {
    Sampler sampler({.temperature = 0.7f, .seed = seed}, test::test_kernels());
    std::mt19937 random(1);
    Ids ids;
    for (int i = 0; i < 50; ++i) {
      std::vector<float> logits(100);
      for (float& l : logits) l = static_cast<float>(random() % 1000) / 200;
      ids.push_back(sampler.next(logits, ids));
    }
    return ids;
  };
  EXPECT_EQ(story(42), story(42));
  EXPECT_NE(story(42), story(43));
}

TEST(Sampler, OneRandomNumberPerTokenAndNoneWhenGreedy) {
  // Two equal tokens: which one comes tells the random number, so skipped or extra draws show.
  const std::vector<float> pair = {1, 1};
  for (const SamplerConfig& c :
       {SamplerConfig{.temperature = 1, .seed = 5},
        SamplerConfig{.temperature = 1, .top_k = 2, .top_p = 0.99f, .seed = 5},
        SamplerConfig{.temperature = 1, .min_p = 0.5f, .seed = 5}}) {
    Sampler sampler(c, test::test_kernels());
    Random random(5);
    for (int i = 0; i < 200; ++i) {
      std::vector<float> logits = pair;
      ASSERT_EQ(sampler.next(logits, {}), random.uniform() < 0.5f ? 0 : 1) << i;
      if (i % 3 == 0) {  // a choice without alternatives takes its number all the same
        std::vector<float> sure = {0, -kInf};
        ASSERT_EQ(sampler.next(sure, {}), 0);
        random.uniform();
      }
    }
  }
  for (uint64_t seed = 0; seed < 5; ++seed) EXPECT_EQ(sample({.seed = seed}, {1, 3, 2}), 1);
}

TEST(Sampler, LogitsAreConsumed) {
  std::vector<float> logits = {2, 1, 0};
  Sampler sampler({.repeat_penalty = 2}, test::test_kernels());
  sampler.next(logits, Ids{0});
  EXPECT_EQ(logits, (std::vector<float>{1, 1, 0}));
}

TEST(Sampler, TopKZeroAndMinusOneAreOff_B79) {
  const auto logits = logs({.5, .3, .15, .05});
  for (int32_t top_k : {0, -1, 99}) {
    auto seen = frequencies({.temperature = 1, .top_k = top_k, .seed = 3}, logits, 10000);
    EXPECT_NEAR(seen[0], 5000, 200) << top_k;
    EXPECT_NEAR(seen[1], 3000, 200) << top_k;
    EXPECT_NEAR(seen[2], 1500, 150) << top_k;
    EXPECT_NEAR(seen[3], 500, 100) << top_k;
  }
  EXPECT_EQ(survivors({.temperature = 1, .top_k = 1}, logits), (std::set<int32_t>{0}));
  EXPECT_EQ(survivors({.temperature = 1, .top_k = 3}, logits), (std::set<int32_t>{0, 1, 2}));
}

TEST(Sampler, TopKBeyond256IsHonoured) {
  std::vector<float> logits(1000, 0.0f);
  const auto kept = frequencies({.temperature = 1, .top_k = 600}, logits, 10000);
  EXPECT_EQ(kept.size(), 600u);
  EXPECT_EQ(kept.rbegin()->first, 599);  // ties: the lower ids
}

TEST(Sampler, TopPKeepsTheSmallestSetThatReachesIt_B80) {
  const auto logits = logs({.5, .3, .15, .05});
  auto kept = [&](float top_p) {
    return survivors({.temperature = 1, .top_p = top_p}, logits).size();
  };
  EXPECT_EQ(kept(.49f), 1u);
  EXPECT_EQ(kept(.51f), 2u);
  EXPECT_EQ(kept(.6f), 2u);
  EXPECT_EQ(kept(.79f), 2u);
  EXPECT_EQ(kept(.81f), 3u);
  EXPECT_EQ(kept(1.0f), 4u);
  EXPECT_EQ(kept(0.0f), 1u);
  const auto unsorted = logs({.3, .1, .1, .5});
  EXPECT_EQ(survivors({.temperature = 1, .top_p = .79f}, unsorted), (std::set<int32_t>{0, 3}));
  EXPECT_EQ(survivors({.temperature = 1, .top_p = .81f}, unsorted), (std::set<int32_t>{0, 1, 3}));
}

TEST(Sampler, TemperatureZeroIsArgmaxAndTinyOnesDoNotOverflow_B82) {
  const std::vector<float> logits = {1e4f - 1, 1e4f, -1e4f};
  for (float temperature : {0.0f, -0.0f, -1.0f, 1e-8f, 1e-30f, 1e-45f}) {
    for (uint64_t seed = 0; seed < 5; ++seed) {
      EXPECT_EQ(
          sample({.temperature = temperature, .top_k = 40, .top_p = .95f, .seed = seed}, logits),
          1);
    }
  }
  EXPECT_EQ(sample({}, {3, 7, 7, 1, 7}), 1);  // the lowest id of a tie
}

TEST(Sampler, NanAndInfinityAreErrors_B86) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const SamplerConfig& c : {SamplerConfig{}, SamplerConfig{.temperature = 1, .top_k = 2}}) {
    for (size_t at : {0u, 2u, 4u}) {
      for (float bad : {nan, kInf}) {
        std::vector<float> logits = {1, 2, 3, 4, 5};
        logits[at] = bad;
        EXPECT_EQ(code_of(c, logits), "NonFiniteLogits") << at;
      }
    }
    EXPECT_EQ(code_of(c, {nan, nan, nan}), "NonFiniteLogits");
    EXPECT_EQ(code_of(c, {-kInf, -kInf}), "AllTokensMasked");
    EXPECT_EQ(sample(c, {-kInf, 0, -kInf}), 1);  // ordinary masking
  }
}

TEST(Sampler, RepeatPenaltyLooksAtTheNewestTokens_B87) {
  auto penalised = [](SamplerConfig c, float value, Ids history) {
    std::vector<float> logits(6, value);
    Sampler(c, test::test_kernels()).next(logits, history);
    return logits;
  };
  SamplerConfig c{.repeat_penalty = 2, .repeat_last_n = 2};
  const Ids history = {1, 2, 3, 4, 5};
  EXPECT_EQ(penalised(c, 1, history), (std::vector<float>{1, 1, 1, 1, .5f, .5f}));
  EXPECT_EQ(penalised(c, -1, history), (std::vector<float>{-1, -1, -1, -1, -2, -2}));
  c.repeat_last_n = 0;
  EXPECT_EQ(penalised(c, 1, history), std::vector<float>(6, 1.0f));
  c.repeat_last_n = -1;
  EXPECT_EQ(penalised(c, 1, history), (std::vector<float>{1, .5f, .5f, .5f, .5f, .5f}));
  c.repeat_last_n = 64;
  c.repeat_penalty = 1;
  EXPECT_EQ(penalised(c, 1, history), std::vector<float>(6, 1.0f));
}

TEST(Sampler, PenaltiesApplyOncePerDistinctTokenFrequencyByCount) {
  std::vector<float> logits = {4, 4, -4};
  Sampler({.repeat_penalty = 2, .frequency_penalty = .25f, .presence_penalty = .5f},
          test::test_kernels())
      .next(logits, Ids{0, 0, 0, 2});
  EXPECT_EQ(logits, (std::vector<float>{2 - .75f - .5f, 4, -8 - .25f - .5f}));
}

TEST(Sampler, CountsAreForgottenBetweenTokens) {
  Sampler sampler({.frequency_penalty = 1}, test::test_kernels());
  for (int i = 0; i < 3; ++i) {
    std::vector<float> logits = {5, 5};
    sampler.next(logits, Ids{0, 0});
    EXPECT_EQ(logits, (std::vector<float>{3, 5})) << i;
  }
}

TEST(Sampler, ZeroIsASeedLikeAnyOther_B89) {
  const std::vector<float> flat(1000, 0.0f);
  std::set<int32_t> firsts;
  for (uint64_t seed : {0u, 1u, 2u, 42u, 43u}) {
    const SamplerConfig c{.temperature = 1.2f, .seed = seed};
    EXPECT_EQ(sample(c, flat), sample(c, flat));
    firsts.insert(sample(c, flat));
  }
  EXPECT_GE(firsts.size(), 4u);
}

TEST(Sampler, TemperatureComesBeforeMinP_B92) {
  EXPECT_EQ(survivors({.temperature = 5, .min_p = .1f}, logs({.9, .06, .04})),
            (std::set<int32_t>{0, 1, 2}));
  const auto logits = logs({.5, .3, .15, .05});
  EXPECT_EQ(survivors({.temperature = 1, .min_p = .29f}, logits).size(), 3u);
  EXPECT_EQ(survivors({.temperature = 1, .min_p = .31f}, logits).size(), 2u);
  EXPECT_EQ(survivors({.temperature = 1, .min_p = 1}, logits).size(), 1u);
}

TEST(Sampler, TopKComesBeforeTopP) {
  // Of .4 .3 .2 .1 the two best are .57 and .43 of what top-k leaves; .5 of that is one token.
  const auto logits = logs({.4, .3, .2, .1});
  EXPECT_EQ(survivors({.temperature = 1, .top_k = 2, .top_p = .5f}, logits).size(), 1u);
  EXPECT_EQ(survivors({.temperature = 1, .top_p = .5f}, logits).size(), 2u);
}

TEST(Sampler, ConstraintMasksFirstAndAcceptsEachDrawnToken) {
  struct Only : Constraint {
    int32_t allowed;
    Ids accepted;
    explicit Only(int32_t id) : allowed(id) {}
    void mask(std::span<float> logits) override {
      for (size_t i = 0; i < logits.size(); ++i) {
        if (static_cast<int32_t>(i) != allowed) logits[i] = -kInf;
      }
    }
    void accept(int32_t id) override { accepted.push_back(id); }
  };
  for (const SamplerConfig& c : {SamplerConfig{}, SamplerConfig{.temperature = 1, .top_k = 1}}) {
    Only only(3);
    Sampler sampler(c, test::test_kernels());
    for (int i = 0; i < 2; ++i) {
      std::vector<float> logits = {9, 8, 7, -5};
      EXPECT_EQ(sampler.next(logits, {}, &only), 3);
    }
    EXPECT_EQ(only.accepted, (Ids{3, 3}));
    Only nothing(-1);
    std::vector<float> logits = {9, 8, 7, -5};
    EXPECT_THROW(sampler.next(logits, {}, &nothing), Error);
    EXPECT_TRUE(nothing.accepted.empty());
  }
}

TEST(Sampler, RefusesKnobsThatAreNotNumbers) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(code_of({.temperature = nan}, {1}), "BadSamplerConfig");
  EXPECT_EQ(code_of({.temperature = kInf}, {1}), "BadSamplerConfig");
  EXPECT_EQ(code_of({.top_p = -.1f}, {1}), "BadSamplerConfig");
  EXPECT_EQ(code_of({.top_p = 1.1f}, {1}), "BadSamplerConfig");
  EXPECT_EQ(code_of({.min_p = nan}, {1}), "BadSamplerConfig");
  EXPECT_EQ(code_of({.repeat_penalty = 0}, {1}), "BadSamplerConfig");
  EXPECT_EQ(code_of({.frequency_penalty = kInf}, {1}), "BadSamplerConfig");
  EXPECT_EQ(code_of({.repeat_last_n = -2}, {1}), "BadSamplerConfig");
}

TEST(Sampler, HistoryOutsideTheVocabularyIsNoToken) {
  std::vector<float> logits = {1, 2};
  Sampler sampler({.repeat_penalty = 2}, test::test_kernels());
  EXPECT_EQ(sampler.next(logits, Ids{-1, 2, 99}), 1);
}

}  // namespace
}  // namespace maglio

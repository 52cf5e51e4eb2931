#include "ops/router.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "support/op_fixture.h"

namespace maglio {
namespace {

struct Chosen {
  std::vector<uint32_t> experts;
  std::vector<float> weights;
};

Chosen route_one(std::vector<float> logits, const RouterOptions& options) {
  test::OpFixture f;
  const Tensor<const float, Seq, Expert> row(logits.data(), {1, logits.size()});
  Chosen chosen;
  for (const ExpertChoice& c : route(f.cx, row, options).of(0)) {
    chosen.experts.push_back(c.expert);
    chosen.weights.push_back(c.weight);
  }
  return chosen;
}

TEST(Router, SoftmaxOverAllExpertsAndOverTheWinners) {
  const Chosen all = route_one({2, 1, 0, -1}, {.n_used = 2, .normalize_selected = false});
  EXPECT_EQ(all.experts, (std::vector<uint32_t>{0, 1}));
  EXPECT_NEAR(all.weights[0], 0.6439, 5e-5);
  EXPECT_NEAR(all.weights[1], 0.2369, 5e-5);
  const Chosen selected = route_one({2, 1, 0, -1}, {.n_used = 2});
  EXPECT_EQ(selected.experts, (std::vector<uint32_t>{0, 1}));
  EXPECT_NEAR(selected.weights[0], 0.7311, 5e-5);
  EXPECT_NEAR(selected.weights[1], 0.2689, 5e-5);
}

TEST(Router, WinnersComeInDescendingOrder) {
  const Chosen c = route_one({-3, 0.5f, 7, 2, 6.5f, -1}, {.n_used = 4});
  EXPECT_EQ(c.experts, (std::vector<uint32_t>{2, 4, 3, 1}));
  for (size_t i = 1; i < c.weights.size(); ++i) EXPECT_LT(c.weights[i], c.weights[i - 1]);
}

TEST(Router, ATieGoesToTheLowerExpert) {
  EXPECT_EQ(route_one({1, 3, 3, 3, 0}, {.n_used = 2}).experts, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(route_one({5, 5, 5, 5, 5}, {.n_used = 3}).experts, (std::vector<uint32_t>{0, 1, 2}));
}

TEST(Router, AllExpertsMayBeUsed) {
  const Chosen c = route_one({0, 1, 2}, {.n_used = 3, .normalize_selected = false});
  EXPECT_EQ(c.experts, (std::vector<uint32_t>{2, 1, 0}));
  EXPECT_NEAR(c.weights[0] + c.weights[1] + c.weights[2], 1.0, 1e-6);
}

TEST(Router, LogitsOfAnySizeGiveTheWeightsOfTheirDifferences) {
  const Chosen near = route_one({2, 1, 0, -1}, {.n_used = 2, .normalize_selected = false});
  for (const float shift : {1024.0f, -1024.0f, 65536.0f}) {  // sums with these are exact
    const Chosen far = route_one({2 + shift, 1 + shift, shift, -1 + shift},
                                 {.n_used = 2, .normalize_selected = false});
    EXPECT_EQ(far.experts, near.experts);
    EXPECT_EQ(far.weights, near.weights) << shift;
  }
}

TEST(Router, TopPFromOneOnChangesNoBit) {
  const std::vector<float> logits = {0.3f, -1, 2.5f, 0.31f, 1.9f, -0.2f, 0.7f, 1.1f};
  const Chosen plain = route_one(logits, {.n_used = 4});
  EXPECT_EQ(plain.experts, (std::vector<uint32_t>{2, 4, 7, 6})) << "none is left out";
  for (const float p : {1.0f, 1.5f, std::numeric_limits<float>::infinity()}) {
    const Chosen c = route_one(logits, {.n_used = 4, .top_p = p});
    EXPECT_EQ(c.experts, plain.experts);
    EXPECT_EQ(c.weights, plain.weights);
  }
}

TEST(Router, BelowOneTheHeaviestThatReachTheShareStayAndTakeTheRestsWeight) {
  const Chosen one = route_one({2, 1, 0, -1}, {.n_used = 2, .top_p = 0.7f});  // 0.7311 reaches it
  EXPECT_EQ(one.experts, (std::vector<uint32_t>{0}));
  EXPECT_NEAR(one.weights[0], 1.0, 1e-6);
  const Chosen two = route_one({2, 1, 0, -1}, {.n_used = 3, .top_p = 0.8f});
  EXPECT_EQ(two.experts, (std::vector<uint32_t>{0, 1}));
  EXPECT_NEAR(two.weights[0] + two.weights[1], 1.0, 1e-6);
  EXPECT_NEAR(two.weights[0] / two.weights[1], std::exp(1.0), 1e-5);
  EXPECT_EQ(route_one({2, 1}, {.n_used = 2, .top_p = 0.0f}).experts, (std::vector<uint32_t>{0}));
}

TEST(Router, NoExpertIsChosenTwiceWhateverTheLogits) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(route_one({-inf, -inf, 1, -inf}, {.n_used = 3}).experts,
            (std::vector<uint32_t>{2, 0, 1}));
}

TEST(Router, ANanIsNotHidden) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::vector<float>& logits : {std::vector<float>{1, nan, 2}, {nan, 1, 2}}) {
    for (const float w : route_one(logits, {.n_used = 2}).weights) EXPECT_TRUE(std::isnan(w));
  }
}

TEST(Router, DemandCountsTheTokensOfEachExpertAndNamesNoOther) {
  test::OpFixture f;
  std::vector<float> logits = {0, 3, 1, 2, 0, 3, 2, 1, 4, 0, 0, 5};
  const Tensor<const float, Seq, Expert> x(logits.data(), {3, 4});
  const auto wanted = demand(f.cx, route(f.cx, x, {.n_used = 2}), 4);
  std::vector<std::pair<uint32_t, uint32_t>> found;
  for (const ExpertDemand& d : wanted) found.emplace_back(d.expert, d.n_tokens);
  const std::vector<std::pair<uint32_t, uint32_t>> expected = {{0, 1}, {1, 2}, {2, 1}, {3, 2}};
  EXPECT_EQ(found, expected);
  const auto first = demand(f.cx, route(f.cx, x.narrow<Seq>(0, 1), {.n_used = 1}), 4);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].expert, 1u);
}

TEST(Router, TheLikeliestAreThoseOfMostTokensThenOfTheBestPlaces) {
  test::OpFixture f;
  const std::vector<float> logits = {0, 3, 2, 1, 0,   // 1, 2, 3
                                     4, 0, 5, 0, 3};  // 2, 0, 4
  const Tensor<const float, Seq, Expert> rows(logits.data(), {2, 5});
  const Routing routing = route(f.cx, rows, {.n_used = 3});
  std::vector<uint32_t> experts, tokens;
  for (const ExpertDemand& one : likeliest_first(f.cx, routing, 5)) {
    experts.push_back(one.expert);
    tokens.push_back(one.n_tokens);
  }
  EXPECT_EQ(experts, (std::vector<uint32_t>{2, 1, 0, 3, 4}));
  EXPECT_EQ(tokens, (std::vector<uint32_t>{2, 1, 1, 1, 1}));
}

}  // namespace
}  // namespace maglio

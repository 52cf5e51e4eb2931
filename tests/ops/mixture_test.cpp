#include "ops/mixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ops/rounded.h"
#include "support/op_fixture.h"
#include "support/random_blocks.h"

namespace maglio {
namespace {

constexpr size_t kModel = 256, kFf = 512, kExperts = 6, kUsed = 3;

// Some experts, packed and gate and up fused, or in the file's rows.
class Experts {
 public:
  Experts(test::OpFixture& f, DType dtype, bool packed) {
    test::Dice dice(3);
    for (size_t e = 0; e < kExperts; ++e) {
      const auto matrix = [&](size_t n_out, size_t n_in) {
        auto& rows = rows_.emplace_back(test::random_weights(dtype, n_out * n_in, 0.1f, dice));
        return packed ? f.pack(dtype, n_out, n_in, rows)
                      : test::raw_matrix(dtype, n_out, n_in, rows);
      };
      FeedForward w;
      std::get<0>(w.gate_up.parts) = {matrix(kFf, kModel)};
      std::get<1>(w.gate_up.parts) = {matrix(kFf, kModel)};
      w.down = {matrix(kModel, kFf)};
      all.push_back(w);
    }
  }
  std::vector<FeedForward> all;

 private:
  std::vector<std::vector<std::byte>> rows_;
};

std::vector<float> random_floats(size_t n, uint64_t seed) {
  test::Dice dice(seed);
  std::vector<float> numbers(n);
  for (float& v : numbers) v = dice.uniform();
  return numbers;
}

Routing routed(test::OpFixture& f, std::vector<float>& logits) {
  const Tensor<const float, Seq, Expert> x(logits.data(), {logits.size() / kExperts, kExperts});
  return route(f.cx, x, {.n_used = kUsed});
}

std::vector<float> mixed(test::OpFixture& f,
                         std::vector<float>& x,
                         const Routing& routing,
                         ExpertSource& experts) {
  const Tensor<const float, Seq, Embed> rows(x.data(), {x.size() / kModel, kModel});
  const auto& w = experts.form().gate_up.parts;
  const auto out =
      mix(f.cx, quantize(f.cx, rows, std::get<0>(w), std::get<1>(w)), routing, experts);
  return {out.data(), out.data() + x.size()};
}

std::vector<float> mixed(test::OpFixture& f,
                         std::vector<float>& x,
                         const Routing& routing,
                         const Experts& experts) {
  ResidentExperts resident(experts.all);
  return mixed(f, x, routing, resident);
}

// Lends the last experts first, so many at a time.
class Portions final : public ExpertSource {
 public:
  Portions(const Experts& experts, size_t portion) : experts_(experts), portion_(portion) {}

  const FeedForward& form() const override { return experts_.all[0]; }
  size_t n_experts() const override { return experts_.all.size(); }
  void lend(std::span<const ExpertDemand> wanted, const Use& use) override {
    while (!wanted.empty()) {
      std::vector<LentExpert> lent;
      for (; lent.size() < portion_ && !wanted.empty(); wanted = wanted.first(wanted.size() - 1)) {
        lent.push_back({wanted.back().expert, experts_.all[wanted.back().expert]});
      }
      use(lent);
    }
  }

 private:
  const Experts& experts_;
  size_t portion_;
};

// The definition, token by token and expert by expert.
std::vector<float> one_by_one(test::OpFixture& f,
                              std::vector<float>& x,
                              const Routing& routing,
                              const Experts& experts) {
  std::vector<float> out(x.size(), 0.0f);
  for (size_t t = 0; t < routing.n_tokens(); ++t) {
    const Tensor<const float, Seq, Embed> row(x.data() + t * kModel, {1, kModel});
    for (const ExpertChoice& choice : routing.of(t)) {
      const FeedForward& w = experts.all[choice.expert];
      const auto [gate, up] = project(f.cx, row, w.gate_up);
      const auto y = linear(f.cx, rounded_swiglu(f.cx, gate, up, w.down), w.down);
      for (size_t i = 0; i < kModel; ++i) out[t * kModel + i] += choice.weight * y(0, i);
    }
  }
  return out;
}

TEST(Mixture, EqualsItsDefinitionForAnyTokensThreadsFormatAndStorage) {
  for (const DType dtype : {DType::F32, DType::F16, DType::Q8_0, DType::Q4_0, DType::Q4_K}) {
    for (const size_t n_tokens : {1, 2, 7, 40}) {
      std::vector<float> x = random_floats(n_tokens * kModel, n_tokens);
      std::vector<float> logits = random_floats(n_tokens * kExperts, 100 + n_tokens);
      test::OpFixture one;
      const Experts experts(one, dtype, true);
      const auto expected = one_by_one(one, x, routed(one, logits), experts);
      for (const size_t n_threads : {1, 2, 5}) {
        for (const bool packed : {true, false}) {
          test::OpFixture f(n_threads);
          const Experts same(f, dtype, packed);
          EXPECT_EQ(mixed(f, x, routed(f, logits), same), expected)
              << to_string(dtype) << " " << n_tokens << " " << n_threads << " " << packed;
        }
      }
    }
  }
}

TEST(Mixture, ATokensBitsDoNotDependOnWhoElseWentToItsExperts) {
  test::OpFixture f(2);
  const Experts experts(f, DType::Q8_0, true);
  std::vector<float> x = random_floats(9 * kModel, 1);
  std::vector<float> logits = random_floats(9 * kExperts, 2);
  const auto together = mixed(f, x, routed(f, logits), experts);
  for (size_t t = 0; t < 9; ++t) {
    std::vector<float> alone(x.begin() + static_cast<std::ptrdiff_t>(t * kModel),
                             x.begin() + static_cast<std::ptrdiff_t>((t + 1) * kModel));
    std::vector<float> its(logits.begin() + static_cast<std::ptrdiff_t>(t * kExperts),
                           logits.begin() + static_cast<std::ptrdiff_t>((t + 1) * kExperts));
    const auto out = mixed(f, alone, routed(f, its), experts);
    EXPECT_TRUE(std::equal(out.begin(), out.end(),
                           together.begin() + static_cast<std::ptrdiff_t>(t * kModel)))
        << t;
  }
}

TEST(Mixture, InWhichPortionsItsExpertsAreLentChangesNoBit) {
  test::OpFixture f(2);
  for (const DType dtype : {DType::F16, DType::Q8_0, DType::Q4_K}) {
    const Experts experts(f, dtype, true);
    for (const size_t n_tokens : {1, 23}) {
      std::vector<float> x = random_floats(n_tokens * kModel, 5);
      std::vector<float> logits = random_floats(n_tokens * kExperts, 6);
      const Routing routing = routed(f, logits);
      const auto expected = mixed(f, x, routing, experts);
      for (const size_t portion : {1, 2, 4, 6}) {
        Portions source(experts, portion);
        EXPECT_EQ(mixed(f, x, routing, source), expected) << to_string(dtype) << " " << portion;
      }
    }
  }
}

TEST(Mixture, AllTokensOnTheSameExpertsAndNoneOnTheOthers) {
  test::OpFixture f(2);
  const Experts experts(f, DType::Q4_K, true);
  std::vector<float> x = random_floats(33 * kModel, 4);
  std::vector<float> logits;
  for (size_t t = 0; t < 33; ++t) logits.insert(logits.end(), {0, 9, 0, 8, 7, 0});
  const Routing routing = routed(f, logits);
  ASSERT_EQ(routing.of(32)[0].expert, 1u);
  EXPECT_EQ(mixed(f, x, routing, experts), one_by_one(f, x, routing, experts));
}

}  // namespace
}  // namespace maglio

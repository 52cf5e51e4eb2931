#include "ops/residual.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ops/activation.h"
#include "support/op_fixture.h"

namespace maglio {
namespace {

TEST(Residual, AddsInPlace) {
  test::OpFixture f;
  const auto x = f.cx.arena.tensor<Seq, Embed>({2, 3});
  const auto y = f.cx.arena.tensor<Seq, Embed>({2, 3});
  for (size_t i = 0; i < 6; ++i) {
    x.data()[i] = static_cast<float>(i);
    y.data()[i] = 10.0f;
  }
  add(f.cx, x, y);
  EXPECT_EQ(x(0, 0), 10.0f);
  EXPECT_EQ(x(1, 2), 15.0f);
}

TEST(Residual, ABiasIsAddedToEveryRowOfAWiderTensor) {
  test::OpFixture f;
  std::vector<float> numbers(8, 1.0f);
  const std::vector<float> bias = {0.5f, -0.5f};
  add(f.cx, Tensor<float, Seq, KeyValue>(numbers.data() + 1, {2, 2}, {4, 1}), Bias<KeyValue>{bias});
  EXPECT_EQ(numbers, (std::vector<float>{1, 1.5f, 0.5f, 1, 1, 1.5f, 0.5f, 1}));
}

TEST(Residual, KeptRowsMoveToTheFront) {
  std::vector<float> numbers = {0, 1, 10, 11, 20, 21, 30, 31};
  const Tensor<float, Seq, Embed> x(numbers.data(), {4, 2});
  const std::vector<size_t> rows = {1, 3};
  const Tensor<float, Seq, Embed> kept = keep_rows(x, rows);
  EXPECT_EQ(kept.extent<Seq>(), 2u);
  EXPECT_EQ(kept(0, 0), 10.0f);
  EXPECT_EQ(kept(1, 1), 31.0f);
  EXPECT_EQ(kept.data(), x.data());
}

TEST(SwiGlu, GateDecidesHowMuchOfUpPasses) {
  test::OpFixture f;
  const auto gate = f.cx.arena.tensor<Seq, Ff>({1, 3});
  const auto up = f.cx.arena.tensor<Seq, Ff>({1, 3});
  gate(0, 0) = 0.0f, up(0, 0) = 5.0f;   // closed at 0
  gate(0, 1) = 20.0f, up(0, 1) = 3.0f;  // open: silu(z) is z
  gate(0, 2) = -1.0f, up(0, 2) = 2.0f;
  const auto y = swiglu(f.cx, gate, up);
  EXPECT_EQ(y(0, 0), 0.0f);
  EXPECT_FLOAT_EQ(y(0, 1), 60.0f);
  EXPECT_FLOAT_EQ(y(0, 2), static_cast<float>(-2.0 / (1.0 + std::exp(1.0))));
}

}  // namespace
}  // namespace maglio

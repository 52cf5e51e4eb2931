#include "ops/norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/op_fixture.h"
#include "support/random_blocks.h"

namespace maglio {
namespace {

TEST(RmsNorm, DividesByTheRootMeanSquareAndScalesEachChannel) {
  test::OpFixture f;
  // mean(3^2, 4^2) = 12.5;  eps 3.5 makes the root exactly 4.
  const std::vector<float> weight = {1.0f, 2.0f};
  const auto x = f.cx.arena.tensor<Seq, Embed>({2, 2});
  x(0, 0) = 3.0f, x(0, 1) = 4.0f;
  x(1, 0) = -3.0f, x(1, 1) = 4.0f;
  const Tensor<float, Seq, Embed> y = rms_norm(f.cx, x, Norm<Embed>{weight, 3.5f});
  EXPECT_FLOAT_EQ(y(0, 0), 0.75f);
  EXPECT_FLOAT_EQ(y(0, 1), 2.0f);
  EXPECT_FLOAT_EQ(y(1, 0), -0.75f);
  EXPECT_FLOAT_EQ(y(1, 1), 2.0f);
}

TEST(RmsNorm, AnAllZeroRowStaysZero) {
  test::OpFixture f;
  const std::vector<float> weight(8, 1.0f);
  const auto x = f.cx.arena.tensor<Seq, Embed>({1, 8});
  for (float& v : x.select<Seq>(0).span()) v = 0;
  const auto y = rms_norm(f.cx, x, Norm<Embed>{weight, 1e-6f});
  for (const float v : y.select<Seq>(0).span()) EXPECT_EQ(v, 0.0f);
}

TEST(RmsNorm, RowsOfAWiderTensorAndAnyThreadsGiveTheSameBits) {
  constexpr size_t kRows = 37, kWidth = 1000, kStride = 1024;
  test::Dice dice(3);
  std::vector<float> numbers(kRows * kStride), weight(kWidth);
  for (float& v : numbers) v = dice.uniform();
  for (float& v : weight) v = dice.uniform();
  std::vector<float> first;
  for (const size_t n_threads : {1, 2, 5}) {
    test::OpFixture f(n_threads);
    const Tensor<const float, Seq, Embed> x(numbers.data(), {kRows, kWidth}, {kStride, 1});
    const auto y = rms_norm(f.cx, x, Norm<Embed>{weight, 1e-6f});
    const std::vector<float> got(y.data(), y.data() + kRows * kWidth);
    if (first.empty()) first = got;
    EXPECT_EQ(got, first) << n_threads;
  }
  // The last row against the formula.
  double squares = 0;
  const float* row = numbers.data() + (kRows - 1) * kStride;
  for (size_t i = 0; i < kWidth; ++i) squares += double{row[i]} * row[i];
  const double scale = 1 / std::sqrt(squares / kWidth + 1e-6);
  for (size_t i = 0; i < kWidth; ++i) {
    EXPECT_NEAR(first[(kRows - 1) * kWidth + i], row[i] * scale * weight[i], 1e-6);
  }
}

}  // namespace
}  // namespace maglio

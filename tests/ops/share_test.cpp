#include "ops/share.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/op_fixture.h"

namespace maglio {
namespace {

// out + sigmoid(share) * y for rows of two numbers.
std::vector<float> shared(std::vector<float> out, std::vector<float> share, std::vector<float> y) {
  test::OpFixture f(2);
  const size_t n = share.size();
  add_share(f.cx, Tensor<float, Seq, Embed>(out.data(), {n, 2}),
            Tensor<const float, Seq, Share>(share.data(), {n, 1}),
            Tensor<float, Seq, Embed>(y.data(), {n, 2}));
  return out;
}

TEST(SharedExpert, EachTokenTakesItsOwnShare) {
  // sigmoid(0) = 1/2, sigmoid(ln 3) = 3/4
  const auto out = shared({1, 2, 3, 4}, {0, std::log(3.0f)}, {8, -8, 4, 40});
  EXPECT_EQ(out[0], 5);
  EXPECT_EQ(out[1], -2);
  EXPECT_NEAR(out[2], 6, 1e-5);
  EXPECT_NEAR(out[3], 34, 1e-4);
}

TEST(SharedExpert, AShareIsAllOrNothingFarFromZeroAndNeverInfinite) {
  EXPECT_EQ(shared({1, 1}, {200}, {2, 3}), (std::vector<float>{3, 4}));
  EXPECT_EQ(shared({1, 1}, {-200}, {2, 3}), (std::vector<float>{1, 1}));
  EXPECT_NEAR(shared({0, 0}, {-10}, {1, 1})[0], 1 / (1 + std::exp(10.0)), 1e-9);
}

TEST(SharedExpert, ANanIsNotHidden) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(shared({1, 1}, {nan}, {2, 3})[0]));
}

}  // namespace
}  // namespace maglio

// Statements of the chapter's section 12.3 that no other test pins (docs/coverage.md).
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ops/norm.h"
#include "ops/rope.h"
#include "support/op_fixture.h"

namespace maglio {
namespace {

// LayerNorm would subtract the mean and leave nothing.
TEST(RmsNormChapter, AConstantRowKeepsItsSignAndLosesItsSize) {
  test::OpFixture f;
  const auto x = f.cx.arena.tensor<Seq, Embed>({1, 6});
  for (size_t i = 0; i < 6; ++i) x(0, i) = -250.0f;
  const std::vector<float> weight = {1, 1, 1, 2, 2, 2};
  const auto y = rms_norm(f.cx, x, Norm<Embed>{weight, 1e-6f});
  for (size_t i = 0; i < 6; ++i) EXPECT_FLOAT_EQ(y(0, i), -weight[i]);
}

TEST(RopeChapter, TurningKeepsLengths) {
  for (const RopePairing pairing : {RopePairing::half, RopePairing::interleaved}) {
    test::OpFixture f;
    const std::vector<size_t> positions = {0, 1, 100, 131071};
    const auto x = f.cx.arena.tensor<Seq, Head, Dim>({positions.size(), 1, 64});
    for (size_t row = 0; row < positions.size(); ++row) {
      for (size_t c = 0; c < 64; ++c) x(row, 0, c) = static_cast<float>(c % 7) - 2.5f;
    }
    rope(f.cx, x, make_rope_table(f.cx, RopeFrequencies(64, 1e4f), pairing, positions));
    std::vector<double> lengths;
    for (size_t row = 0; row < positions.size(); ++row) {
      double square = 0;
      for (size_t c = 0; c < 64; ++c) square += std::pow(double{x(row, 0, c)}, 2);
      lengths.push_back(std::sqrt(square));
    }
    for (const double length : lengths) EXPECT_NEAR(length / lengths[0], 1, 1e-6);
    EXPECT_NE(x(0, 0, 0), x(1, 0, 0)) << "and it does turn";
  }
}

}  // namespace
}  // namespace maglio

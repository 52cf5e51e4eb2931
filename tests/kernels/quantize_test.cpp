// Activations: the buffers themselves are opaque, so these tests look at equality of buffers and,
// through a weight matrix that is the identity, at the values that they stand for.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/matrices.h"
#include "kernels/registry.h"
#include "kernels/tested_kernels.h"

namespace maglio {
namespace {

constexpr ActivationClass kClasses[] = {ActivationClass::f32, ActivationClass::a16,
                                        ActivationClass::a8, ActivationClass::a8k};

std::vector<float> values(size_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(n);
  for (size_t i = 0; i < n; ++i) {
    x[i] = normal(rng) * std::pow(10.0f, static_cast<float>(static_cast<int>(i / 32 % 9) - 4));
    if (i % 97 == 0) x[i] = 0;
    if (i % 96 == 95) x[i] = std::round(x[i] * 8) / 8;
  }
  return x;
}

TEST(Quantize, EveryTableMakesTheSameBytes) {
  const size_t n_rows = 5;
  const size_t k = 768;
  const auto x = values(n_rows * k, 71);
  for (ActivationClass c : kClasses) {
    AlignedBuffer expected(kernels_scalar.activation(c).bytes(n_rows, k));
    kernels_scalar.activation(c).quantize(x.data(), k, n_rows, k, 0, n_rows, expected.data());
    for (const Kernels* kernels : test::tested_kernels()) {
      AlignedBuffer got(kernels->activation(c).bytes(n_rows, k));
      ASSERT_EQ(got.size(), expected.size());
      kernels->activation(c).quantize(x.data(), k, n_rows, k, 0, n_rows, got.data());
      EXPECT_EQ(0, std::memcmp(got.data(), expected.data(), got.size()))
          << kernels->name << " class " << static_cast<int>(c);
    }
  }
}

TEST(Quantize, RowsMayBeSharedAmongCallsInAnyWay) {
  const size_t n_rows = 9;
  const auto x = values(n_rows * 512, 72);
  for (const Kernels* kernels : test::tested_kernels()) {
    for (ActivationClass c : kClasses) {
      const size_t k = c == ActivationClass::a8k ? 512 : 480;  // the others end inside a chunk
      AlignedBuffer whole(kernels->activation(c).bytes(n_rows, k));
      AlignedBuffer parts(kernels->activation(c).bytes(n_rows, k));
      kernels->activation(c).quantize(x.data(), 512, n_rows, k, 0, n_rows, whole.data());
      kernels->activation(c).quantize(x.data(), 512, n_rows, k, 4, 9, parts.data());
      kernels->activation(c).quantize(x.data(), 512, n_rows, k, 0, 1, parts.data());
      kernels->activation(c).quantize(x.data(), 512, n_rows, k, 1, 4, parts.data());
      EXPECT_EQ(0, std::memcmp(whole.data(), parts.data(), whole.size()));
    }
  }
}

// A format of the class with an identity matrix of 256 x 256 in it: output n is d * m * q_n.
Matrix identity(DType dtype) {
  Matrix w{dtype, 256, 256, std::vector<std::byte>(256 * row_bytes(dtype, 256))};
  for (size_t n = 0; n < 256; ++n) {
    std::byte* row = w.rows.data() + n * w.row_size();
    if (dtype == DType::Q8_0) {
      put_half(row + n / 32 * 34, 1.0f);
      row[n / 32 * 34 + 2 + n % 32] = std::byte{1};
    } else if (dtype == DType::Q4_0) {  // every integer 8 (zero) but one of 9
      for (size_t b = 0; b < 8; ++b) {
        put_half(row + 18 * b, 1.0f);
        std::fill(row + 18 * b + 2, row + 18 * b + 18, std::byte{0x88});
      }
      row[n / 32 * 18 + 2 + n % 16] = n % 32 < 16 ? std::byte{0x89} : std::byte{0x98};
    } else {  // Q4_K without minima, all scales 1
      put_half(row, 1.0f);
      const uint8_t scales[12] = {1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1};
      std::memcpy(row + 4, scales, 12);
      row[16 + n / 64 * 32 + n % 32] = n % 64 < 32 ? std::byte{0x01} : std::byte{0x10};
    }
  }
  return w;
}

// The largest error of a value as a share of the largest magnitude of its `block` values.
double worst_error(DType dtype, size_t block) {
  const auto x = values(256, 73);
  double worst = 0;
  for (const Kernels* kernels : test::tested_kernels()) {
    const auto got = multiply(*kernels, identity(dtype), x, 1);
    for (size_t i = 0; i < 256; ++i) {
      float amax = 0;
      for (size_t j = i / block * block; j < (i / block + 1) * block; ++j) {
        amax = std::max(amax, std::fabs(x[j]));
      }
      worst = std::max(worst, std::fabs(static_cast<double>(got[i]) - x[i]) / amax);
    }
  }
  return worst;
}

TEST(Quantize, A16KeepsFifteenBitsOfEachBlockOf32) {
  EXPECT_LE(worst_error(DType::Q8_0, 32), 0.5 / 32767 * 1.01);
}

TEST(Quantize, A8KeepsSevenBitsOfEachBlockOf16) {
  // The step is at most one 127th coarser than the block's own, where that block is not far
  // smaller.
  EXPECT_LE(worst_error(DType::Q4_0, 32), 0.5 / 127 * 1.01);
}

TEST(Quantize, A8kKeepsSevenBitsOfEachBlockOf32OfItsSize) {
  EXPECT_LE(worst_error(DType::Q4_K, 256), 0.5 / 127 * 1.01);
}

TEST(Quantize, ASmallSubBlockBesideALargeOneKeepsItsOwnScale) {
  std::vector<float> x(256, 0.1f);
  x[0] = 1.0f;  // 10 times the others: with one scale for 256 the step would be 1 / 127
  for (size_t i = 1; i < 256; ++i) x[i] = 0.1f * static_cast<float>(i % 13) / 12;
  for (const Kernels* kernels : test::tested_kernels()) {
    const auto got = multiply(*kernels, identity(DType::Q4_K), x, 1);
    for (size_t i = 32; i < 256; ++i) EXPECT_NEAR(got[i], x[i], 0.5 * (2.0 / 15) / 127 * 1.01) << i;
  }
}

TEST(Quantize, TinyAndZeroBlocksBecomeZeros) {
  for (float tiny : {0.0f, -0.0f, 1e-31f, -1e-38f, 1e-44f}) {
    const std::vector<float> x(256, tiny);
    for (const Kernels* kernels : test::tested_kernels()) {
      for (DType dtype : {DType::Q8_0, DType::Q4_0, DType::Q4_K}) {
        for (float y : multiply(*kernels, identity(dtype), x, 1)) {
          EXPECT_TRUE(y == 0.0f || y == kUntouched) << y;
        }
      }
    }
  }
}

}  // namespace
}  // namespace maglio

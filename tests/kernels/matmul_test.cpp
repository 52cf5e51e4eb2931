// Every table against the plain product of reference_matmul.h, by equality.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/matrices.h"
#include "kernels/reference_matmul.h"
#include "kernels/registry.h"
#include "kernels/tested_kernels.h"
#include "quant/codec.h"

namespace maglio {
namespace {

// Depths that end inside a chunk of 256, at its end and just behind it.
std::vector<size_t> depths(DType dtype) {
  switch (dtype_info(dtype).block_size) {
    case 1:
      return {1, 33, 256, 301};
    case 32:
      return {32, 96, 256, 288, 800};
    default:
      return {256, 768};
  }
}

std::vector<float> gaussian(size_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(n);
  for (float& v : x) v = normal(rng);
  return x;
}

// Rows whose blocks differ in size by many powers of ten, with zeros of both signs, exact halves,
// blocks of zeros, blocks too small to scale, and single outliers.
std::vector<float> adversarial(size_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  auto x = gaussian(n, seed + 1);
  for (size_t i = 0; i < n; ++i) {
    switch (i / 32 % 7) {
        // clang-format off
      case 0: break;
      case 1: x[i] *= 1e20f; break;
      case 2: x[i] *= 1e-33f; break;
      case 3: x[i] = i % 2 ? -0.0f : 0.0f; break;
      case 4: x[i] = static_cast<float>(static_cast<int>(rng() % 255) - 127) / 2; break;
      case 5: if (i % 32 == 5) x[i] *= 1000; break;
      case 6: x[i] *= 1e-6f; break;
        // clang-format on
    }
  }
  return x;
}

void expect_reference(const Kernels& kernels,
                      const Matrix& w,
                      const std::vector<float>& x,
                      size_t n_rows) {
  const auto out = multiply(kernels, w, x, n_rows, 1);
  for (size_t m = 0; m < n_rows; ++m) {
    for (size_t n = 0; n < w.n_outputs; ++n) {
      const float expected = reference::dot(w.dtype, w.row(n), x.data() + m * w.k, w.k);
      const float got = out[m * (w.n_outputs + 3) + n];
      ASSERT_EQ(0, std::memcmp(&got, &expected, sizeof got))
          << kernels.name << " " << to_string(w.dtype) << " k " << w.k << " rows " << n_rows << " ["
          << m << ", " << n << "]: " << got << " expected " << expected;
    }
    for (size_t i = 0; i < 3; ++i) {
      ASSERT_EQ(out[m * (w.n_outputs + 3) + w.n_outputs + i], kUntouched) << "written past the row";
    }
  }
}

TEST(Matmul, EveryFormatEqualsThePlainProductOnEveryShape) {
  for (const Kernels* kernels : test::tested_kernels()) {
    for (DType dtype : kAllFormats) {
      for (size_t k : depths(dtype)) {
        for (size_t n_outputs : {1u, 16u, 35u}) {
          const auto w =
              random_matrix(dtype, n_outputs, k, Integers::random, static_cast<uint32_t>(k));
          for (size_t n_rows : {1u, 2u, 3u, 7u}) {
            expect_reference(*kernels, w, gaussian(n_rows * k, 3), n_rows);
          }
        }
      }
    }
  }
}

TEST(Matmul, EveryNumberOfRowsGivesTheBitsOfThePlainProduct) {
  for (const Kernels* kernels : test::tested_kernels()) {
    for (DType dtype : kAllFormats) {
      const size_t k = dtype_info(dtype).block_size == 256 ? 512 : 352;
      const auto w = random_matrix(dtype, 17, k, Integers::random, 99);
      for (size_t n_rows : {4u, 5u, 6u, 8u, 9u, 15u, 16u, 17u, 31u, 33u, 64u, 127u}) {
        expect_reference(*kernels, w, gaussian(n_rows * k, 4), n_rows);
      }
    }
  }
}

// A kernel may take many rows in several goes over the panels.
TEST(Matmul, HundredsOfRowsGiveTheBitsOfThePlainProduct) {
  for (const Kernels* kernels : test::tested_kernels()) {
    for (DType dtype : kAllFormats) {
      const auto w = random_matrix(dtype, 33, 256, Integers::random, 98);
      expect_reference(*kernels, w, gaussian(401 * 256, 5), 401);
    }
  }
}

TEST(Matmul, ExtremeWeightsAndActivationsKeepTheBits) {
  using enum Integers;
  for (const Kernels* kernels : test::tested_kernels()) {
    for (DType dtype : kAllFormats) {
      const size_t k = dtype_info(dtype).block_size == 256 ? 1792 : 7 * 32 * 3;
      for (Integers choice : {random, all_largest, all_smallest, zero_blocks}) {
        const auto w = random_matrix(dtype, 19, k, choice, 5);
        for (size_t n_rows : {1u, 2u, 5u}) {
          expect_reference(*kernels, w, adversarial(n_rows * k, 6), n_rows);
        }
      }
    }
  }
}

// All integers at their ends at once: the largest sums that an int16 or int32 inside a kernel
// meets, and far above 2^24, where the conversion to f32 rounds.
TEST(Matmul, NoIntegerSaturatesWhenEveryFactorIsExtreme) {
  for (const Kernels* kernels : test::tested_kernels()) {
    for (DType dtype : kAllFormats) {
      const size_t k = 512;
      for (Integers choice : {Integers::all_largest, Integers::all_smallest}) {
        const auto w = random_matrix(dtype, 16, k, choice, 8);
        for (float sign : {1.0f, -1.0f}) {
          for (size_t n_rows : {1u, 2u, 6u}) {
            std::vector<float> x(n_rows * k, 3.0f * sign);
            expect_reference(*kernels, w, x, n_rows);
            for (size_t i = 0; i < x.size(); i += 2) x[i] = -x[i];
            expect_reference(*kernels, w, x, n_rows);
          }
        }
      }
    }
  }
}

TEST(Matmul, ARowOfABatchHasTheBitsOfTheRowAlone) {
  for (const Kernels* kernels : test::tested_kernels()) {
    for (DType dtype : kAllFormats) {
      const size_t k = 256;
      const size_t n_rows = 23;
      const auto w = random_matrix(dtype, 40, k, Integers::random, 21);
      const auto x = adversarial(n_rows * k, 22);
      const auto batch = multiply(*kernels, w, x, n_rows);
      for (size_t m = 0; m < n_rows; ++m) {
        const auto alone = multiply(*kernels, w, std::span(x).subspan(m * k, k), 1);
        ASSERT_EQ(0, std::memcmp(alone.data(), batch.data() + m * 43, 40 * sizeof(float)))
            << kernels->name << " " << to_string(dtype) << " row " << m;
      }
    }
  }
}

TEST(Matmul, PanelsMayBeSplitInAnyWay) {
  for (const Kernels* kernels : test::tested_kernels()) {
    for (DType dtype : kAllFormats) {
      const auto w = random_matrix(dtype, 90, 256, Integers::random, 31);
      const auto x = gaussian(5 * 256, 32);
      const auto whole = multiply(*kernels, w, x, 5);
      for (size_t run : {1u, 2u, 4u}) EXPECT_EQ(multiply(*kernels, w, x, 5, run), whole);
    }
  }
}

TEST(Matmul, ANonFiniteActivationMakesItsRowNaNAndNoOther) {
  for (const Kernels* kernels : test::tested_kernels()) {
    for (DType dtype : kAllFormats) {
      const auto w = random_matrix(dtype, 16, 512, Integers::random, 41);
      for (float bad :
           {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        auto x = gaussian(3 * 512, 42);
        const auto clean = multiply(*kernels, w, x, 3);
        x[512 + 300] = bad;
        const auto out = multiply(*kernels, w, x, 3);
        for (size_t n = 0; n < 16; ++n) {
          EXPECT_FALSE(std::isfinite(out[19 + n])) << kernels->name << " " << to_string(dtype);
          EXPECT_EQ(out[n], clean[n]);
          EXPECT_EQ(out[38 + n], clean[38 + n]);
        }
      }
    }
  }
}

// The whole point of a format: its product is close to the product of the dequantized weights.
TEST(Matmul, TheProductIsCloseToTheExactOne) {
  for (DType dtype : kAllFormats) {
    const size_t k = 1024;
    const auto w = random_matrix(dtype, 64, k, Integers::random, 51);
    const auto x = gaussian(k, 52);
    const auto out = multiply(kernels_scalar, w, x, 1);
    const FormatKernels& f = format_kernels(kernels_scalar, dtype);
    double error = 0;
    double norm = 0;
    for (size_t n = 0; n < 64; ++n) {
      std::vector<float> values(k);
      dequantize_row(dtype, w.row(n), k, values.data());
      double exact = 0;
      for (size_t i = 0; i < k; ++i) exact += static_cast<double>(values[i]) * x[i];
      error += (out[n] - exact) * (out[n] - exact);
      norm += exact * exact;
    }
    const double limit = f.activation == ActivationClass::f32   ? 2e-6
                         : dtype == DType::BF16                 ? 5e-4
                         : f.activation == ActivationClass::a16 ? 1e-4
                                                                : 1e-2;
    EXPECT_LT(std::sqrt(error / norm), limit) << to_string(dtype);
  }
}

}  // namespace
}  // namespace maglio

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "kernels/matrices.h"
#include "kernels/registry.h"
#include "kernels/tested_kernels.h"
#include "quant/codec.h"

namespace maglio {
namespace {

// Panels of BF16 hold the integers of its products, from which the weights cannot be had back.
TEST(Pack, OnlyBFloat16PanelsHoldLessThanTheFile) {
  for (const Kernels* kernels : test::tested_kernels()) {
    for (DType dtype : kAllFormats) {
      const FormatKernels& f = format_kernels(*kernels, dtype);
      EXPECT_EQ(f.unpack_row == nullptr, dtype == DType::BF16) << to_string(dtype);
    }
    const FormatKernels& f = format_kernels(*kernels, DType::BF16);
    EXPECT_LT(f.panel_bytes(1024), 16 * 1024 * 2 * 77 / 100);
  }
}

TEST(Pack, UnpackedRowsHaveTheBitsOfDequantizedRows) {
  for (const Kernels* kernels : test::tested_kernels()) {
    for (DType dtype : kAllFormats) {
      if (format_kernels(*kernels, dtype).unpack_row == nullptr) continue;
      for (size_t k : {256u, 512u, 1280u}) {
        const auto w = random_matrix(dtype, 21, k, Integers::random, 61);
        const FormatKernels& f = format_kernels(*kernels, dtype);
        AlignedBuffer panels = packed(*kernels, w);
        std::vector<float> got(k);
        std::vector<float> expected(k);
        for (size_t n = 0; n < w.n_outputs; ++n) {
          f.unpack_row(panels.data() + n / 16 * f.panel_bytes(k), n % 16, k, got.data());
          dequantize_row(dtype, w.row(n), k, expected.data());
          ASSERT_EQ(0, std::memcmp(got.data(), expected.data(), k * sizeof(float)))
              << kernels->name << " " << to_string(dtype) << " row " << n;
        }
      }
    }
  }
}

TEST(Pack, RowsMayEndInsideAChunk) {
  for (const Kernels* kernels : test::tested_kernels()) {
    for (DType dtype : kAllFormats) {
      if (format_kernels(*kernels, dtype).unpack_row == nullptr) continue;
      const size_t block = dtype_info(dtype).block_size;
      const size_t k = block == 1 ? 77 : 3 * block;
      const auto w = random_matrix(dtype, 5, k, Integers::random, 62);
      const FormatKernels& f = format_kernels(*kernels, dtype);
      AlignedBuffer panels = packed(*kernels, w);
      std::vector<float> got(k);
      std::vector<float> expected(k);
      for (size_t n = 0; n < w.n_outputs; ++n) {
        f.unpack_row(panels.data(), n, k, got.data());
        dequantize_row(dtype, w.row(n), k, expected.data());
        EXPECT_EQ(0, std::memcmp(got.data(), expected.data(), k * sizeof(float)))
            << to_string(dtype);
      }
    }
  }
}

TEST(Pack, EveryTableMakesTheSamePanels) {
  for (DType dtype : kAllFormats) {
    const auto w = random_matrix(dtype, 37, 512, Integers::random, 63);
    AlignedBuffer expected = packed(kernels_scalar, w);
    for (const Kernels* kernels : test::tested_kernels()) {
      AlignedBuffer panels = packed(*kernels, w);
      ASSERT_EQ(panels.size(), expected.size());
      EXPECT_EQ(0, std::memcmp(panels.data(), expected.data(), panels.size())) << to_string(dtype);
    }
  }
}

TEST(Pack, PanelsAreAtMostThreePercentLargerThanTheirRows) {
  for (DType dtype : kAllFormats) {
    const FormatKernels& f = format_kernels(kernels_scalar, dtype);
    EXPECT_EQ(f.dtype, dtype);
    for (size_t k : {768u, 1024u, 1536u, 3072u, 9728u}) {
      EXPECT_EQ(f.panel_bytes(k) % 64, 0u);
      EXPECT_LE(static_cast<double>(f.panel_bytes(k)),
                1.03 * static_cast<double>(16 * row_bytes(dtype, k)))
          << to_string(dtype) << " k " << k;
    }
  }
}

}  // namespace
}  // namespace maglio

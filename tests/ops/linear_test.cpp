#include "ops/linear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "quant/codec.h"
#include "support/op_fixture.h"
#include "support/random_blocks.h"

namespace maglio {
namespace {

constexpr DType kFormats[] = {DType::F32,  DType::F16,  DType::BF16, DType::Q8_0,
                              DType::Q4_0, DType::Q4_1, DType::Q5_0, DType::Q5_1,
                              DType::Q4_K, DType::Q5_K, DType::Q6_K};

std::vector<float> random_floats(size_t n, uint64_t seed) {
  test::Dice dice(seed);
  std::vector<float> numbers(n);
  for (float& v : numbers) v = dice.uniform();
  return numbers;
}

// A matrix in the file's bytes and in panels.
struct TestMatrix {
  TestMatrix(test::OpFixture& f, DType type, size_t n_out, size_t n_in, uint64_t seed)
      : dtype(type), n_columns(n_in) {
    test::Dice dice(seed);
    rows = test::random_weights(dtype, n_out * n_in, 0.1f, dice);
    packed = f.pack(dtype, n_out, n_in, rows);
  }
  // sum over k of x[k] * w[o, k], in double.
  double product(std::span<const float> x, size_t o) const {
    std::vector<float> w(n_columns);
    dequantize_row(dtype, rows.data() + o * row_bytes(dtype, n_columns), n_columns, w.data());
    double sum = 0;
    for (size_t k = 0; k < n_columns; ++k) sum += double{x[k]} * w[k];
    return sum;
  }
  DType dtype;
  size_t n_columns;
  std::vector<std::byte> rows;
  WeightMatrix packed;
};

TEST(Linear, RowsOfTheWeightAreOutputs) {
  test::OpFixture f;
  const std::vector<float> w = {1, 2, 3, 4, 5, 6};  // [2 out, 3 in]
  const WeightMatrix m = f.pack(DType::F32, 2, 3, std::as_bytes(std::span(w)));
  std::vector<float> numbers = {1, 10, 100, 0, 0, 1};
  const Tensor<const float, Seq, Embed> x(numbers.data(), {2, 3});
  const Tensor<float, Seq, Ff> y = linear(f.cx, x, Weight<Ff, Embed>{m});
  EXPECT_EQ(y(0, 0), 321.0f);
  EXPECT_EQ(y(0, 1), 654.0f);
  EXPECT_EQ(y(1, 0), 3.0f);
  EXPECT_EQ(y(1, 1), 6.0f);
}

// Every format against double precision, with shapes that fill no panel and no tile.
TEST(Linear, EveryFormatComesCloseToTheExactProduct) {
  constexpr size_t kRows = 7, kOut = 37, kIn = 512;
  const std::vector<float> numbers = random_floats(kRows * kIn, 5);
  const Tensor<const float, Seq, Embed> x(numbers.data(), {kRows, kIn});
  for (const DType dtype : kFormats) {
    test::OpFixture f(2);
    const TestMatrix w(f, dtype, kOut, kIn, 6);
    const auto y = linear(f.cx, x, Weight<Ff, Embed>{w.packed});
    double squared_error = 0, squares = 0;
    for (size_t row = 0; row < kRows; ++row) {
      for (size_t o = 0; o < kOut; ++o) {
        const double exact = w.product(x.select<Seq>(row).span(), o);
        squared_error += (y(row, o) - exact) * (y(row, o) - exact);
        squares += exact * exact;
      }
    }
    // What rounding the activations costs: nothing, 16 bits (BF16: of the weights, 11), 8 bits.
    const bool is_float = dtype == DType::F32 || dtype == DType::F16;
    const bool is_a8 = dtype == DType::Q4_0 || dtype_info(dtype).block_size == 256;
    const double bound = is_float ? 1e-6 : is_a8 ? 1e-2 : dtype == DType::BF16 ? 5e-4 : 1e-4;
    EXPECT_LT(std::sqrt(squared_error / squares), bound) << to_string(dtype);
  }
}

TEST(Linear, ARowsBitsDependOnThatRowOnly) {
  constexpr size_t kRows = 19, kOut = 48, kIn = 256;
  const std::vector<float> numbers = random_floats(kRows * kIn, 7);
  const Tensor<const float, Seq, Embed> x(numbers.data(), {kRows, kIn});
  for (const DType dtype : kFormats) {
    test::OpFixture f(5);
    const TestMatrix w(f, dtype, kOut, kIn, 8);
    const auto together = linear(f.cx, x, Weight<Ff, Embed>{w.packed});
    for (size_t row = 0; row < kRows; ++row) {
      const auto alone = linear(f.cx, x.narrow<Seq>(row, 1), Weight<Ff, Embed>{w.packed});
      for (size_t o = 0; o < kOut; ++o) {
        ASSERT_EQ(alone(0, o), together(row, o)) << to_string(dtype) << " row " << row;
      }
    }
  }
}

// Shapes that end inside a panel and inside a group of panels that are packed at once.
TEST(Linear, ARawMatrixGivesTheBitsOfThePackedOne) {
  constexpr size_t kRows = 37, kIn = 512;
  const std::vector<float> numbers = random_floats(kRows * kIn, 21);
  for (const DType dtype : kFormats) {
    for (const size_t n_threads : {1, 2, 3}) {
      test::OpFixture f(n_threads);
      for (const size_t n_out : {5, 16, 39, 4000}) {
        const TestMatrix w(f, dtype, n_out, kIn, 22);
        const Weight<Ff, Embed> raw{test::raw_matrix(dtype, n_out, kIn, w.rows)};
        for (const size_t n_rows : {size_t{1}, size_t{2}, size_t{5}, kRows}) {
          const Tensor<const float, Seq, Embed> x(numbers.data(), {n_rows, kIn});
          const auto expected = linear(f.cx, x, Weight<Ff, Embed>{w.packed});
          const auto found = linear(f.cx, x, raw);
          for (size_t row = 0; row < n_rows; ++row) {
            for (size_t o = 0; o < n_out; ++o) {
              ASSERT_EQ(found(row, o), expected(row, o))
                  << to_string(dtype) << ", " << n_threads << " threads, " << n_out << " outputs";
            }
          }
        }
      }
    }
  }
}

TEST(Linear, AnInputIsRoundedOnceForAllWeightsOfAClass) {
  test::OpFixture f;
  const std::vector<float> numbers = random_floats(2 * 256, 9);
  const Tensor<const float, Seq, Embed> x(numbers.data(), {2, 256});
  const TestMatrix q(f, DType::Q4_K, 32, 256, 1), k(f, DType::Q6_K, 16, 256, 2);
  const TestMatrix v(f, DType::Q8_0, 16, 256, 3);
  const QuantRows<Seq, Embed> rows =
      quantize(f.cx, x, Weight<Query, Embed>{q.packed}, Weight<KeyValue, Embed>{k.packed},
               Weight<KeyValue, Embed>{v.packed});
  const auto& by_class = rows.buffers.by_class;
  EXPECT_NE(by_class[static_cast<size_t>(ActivationClass::a8k)], nullptr);  // q and k share it
  EXPECT_NE(by_class[static_cast<size_t>(ActivationClass::a16)], nullptr);
  EXPECT_EQ(by_class[static_cast<size_t>(ActivationClass::a8)], nullptr);
  EXPECT_EQ(by_class[static_cast<size_t>(ActivationClass::f32)], nullptr);
}

// Three matrices in one piece of memory, looked at as one and one by one.
TEST(Linear, FusedProjectionsGiveTheBitsOfSeparateOnes) {
  constexpr size_t kIn = 256, kQ = 64, kKv = 24;  // 24: the keys end within a panel
  const std::vector<float> numbers = random_floats(5 * kIn, 11);
  const Tensor<const float, Seq, Embed> x(numbers.data(), {5, kIn});
  for (const DType dtype : kFormats) {
    test::OpFixture f(2);
    test::Dice dice(12);
    const size_t stored = row_bytes(dtype, kIn);
    const size_t n_rows[] = {kQ, kKv, kKv};
    // Rows as the parts have them, with rows of zeros up to the next panel.
    std::vector<std::byte> all;
    for (const size_t n : n_rows) {
      const std::vector<std::byte> part = test::random_weights(dtype, n * kIn, 0.1f, dice);
      all.insert(all.end(), part.begin(), part.end());
      all.resize(round_up(all.size(), kPanelRows * stored));
    }
    const WeightMatrix fused = f.pack(dtype, all.size() / stored, kIn, all);
    const size_t panel = format_kernels(f.cx.kernels, dtype).panel_bytes(kIn);
    const auto part = [&](size_t first_panel, size_t n) {
      return WeightMatrix{dtype, n, kIn, fused.panels + first_panel * panel};
    };
    Projections<Embed, Query, KeyValue, KeyValue> qkv;
    qkv.parts = {{part(0, kQ)}, {part(4, kKv)}, {part(6, kKv)}};
    const auto [q1, k1, v1] = project(f.cx, x, qkv);
    qkv.fused = fused;
    const auto [q2, k2, v2] = project(f.cx, x, qkv);
    EXPECT_EQ(k2.stride<Seq>(), 128u) << "the fused product is one row of all outputs";
    for (size_t row = 0; row < 5; ++row) {
      for (size_t o = 0; o < kQ; ++o) ASSERT_EQ(q1(row, o), q2(row, o)) << to_string(dtype);
      for (size_t o = 0; o < kKv; ++o) ASSERT_EQ(k1(row, o), k2(row, o)) << to_string(dtype);
      for (size_t o = 0; o < kKv; ++o) ASSERT_EQ(v1(row, o), v2(row, o)) << to_string(dtype);
    }
  }
}

}  // namespace
}  // namespace maglio

#include "ops/rounded.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "ops/activation.h"
#include "support/op_fixture.h"

namespace maglio {
namespace {

std::vector<float> random_floats(size_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(n);
  for (float& v : x) v = normal(rng);
  return x;
}

// Weights that only say what they want to be multiplied with.
WeightMatrix reader(DType dtype) {
  return {.dtype = dtype, .n_out = 16, .n_in = 512};
}

void expect_same_bytes(const Kernels& kernels,
                       const detail::QuantBuffers& a,
                       const detail::QuantBuffers& b) {
  ASSERT_EQ(a.n_rows, b.n_rows);
  for (size_t c = 0; c < kActivationClasses; ++c) {
    ASSERT_EQ(a.by_class[c] == nullptr, b.by_class[c] == nullptr) << c;
    if (a.by_class[c] == nullptr) continue;
    const size_t bytes = kernels.activations[c].bytes(a.n_rows, a.n_in);
    EXPECT_EQ(0, std::memcmp(a.by_class[c], b.by_class[c], bytes)) << kernels.name << ' ' << c;
  }
}

// One weight of each activation class; then two classes together, as mixed files have them.
const std::vector<std::array<DType, 2>> kReaders = {{DType::F16, DType::F16},
                                                    {DType::Q8_0, DType::Q8_0},
                                                    {DType::Q4_0, DType::Q4_0},
                                                    {DType::Q4_K, DType::Q6_K},
                                                    {DType::Q4_K, DType::Q8_0}};

TEST(RoundedRmsNorm, GivesTheBytesOfNormThenQuantize) {
  const std::vector<float> numbers = random_floats(33 * 600, 1);
  const std::vector<float> weight = random_floats(512, 2);
  const Norm<Embed> norm{weight, 1e-6f};
  for (const Kernels* kernels : available_kernels()) {
    for (const size_t n_threads : {1, 2, 3, 5, 8}) {
      test::OpFixture f(n_threads, *kernels);
      for (const auto& [first, second] : kReaders) {
        const Projections<Embed, Ff, Ff> readers{{{reader(first)}, {reader(second)}}, {}};
        for (const size_t n_rows : {1, 2, 7, 33}) {
          const Tensor<const float, Seq, Embed> x(numbers.data(), {n_rows, 512}, {600, 1});
          const auto separate = quantize(f.cx, rms_norm(f.cx, x, norm), std::get<0>(readers.parts),
                                         std::get<1>(readers.parts));
          const auto at_once = rounded_rms_norm(f.cx, x, norm, readers);
          expect_same_bytes(*kernels, at_once.buffers, separate.buffers);
        }
      }
    }
  }
}

TEST(RoundedSwiglu, GivesTheBytesOfSwigluThenQuantize) {
  const std::vector<float> numbers = random_floats(33 * 1100, 3);
  for (const Kernels* kernels : available_kernels()) {
    for (const size_t n_threads : {1, 2, 3, 5, 8}) {
      test::OpFixture f(n_threads, *kernels);
      for (const auto& [dtype, other] : kReaders) {
        const Weight<Embed, Ff> down{reader(dtype)};
        for (const size_t n_rows : {1, 2, 7, 33}) {
          // Gate and up side by side, as their fused projection leaves them.
          const Tensor<const float, Seq, Ff> gate(numbers.data(), {n_rows, 512}, {1100, 1});
          const Tensor<const float, Seq, Ff> up(numbers.data() + 520, {n_rows, 512}, {1100, 1});
          const auto separate = quantize(f.cx, swiglu(f.cx, gate, up), down);
          const auto at_once = rounded_swiglu(f.cx, gate, up, down);
          expect_same_bytes(*kernels, at_once.buffers, separate.buffers);
        }
      }
    }
  }
}

}  // namespace
}  // namespace maglio

#include "ops/rope.h"

#include "ops/rows.h"

namespace maglio {

RopeFrequencies::RopeFrequencies(size_t head_dim, float base, const RopeScaling& scaling) {
  assert(head_dim > 0 && head_dim % 2 == 0);
  const size_t n_pairs = head_dim / 2;
  assert(scaling.divisors.empty() || scaling.divisors.size() == n_pairs);
  // base^(-2i / head_dim) is the i-th power of the root that has n_pairs factors in 1 / base.
  const DoubleDouble ratio = inverse_root(static_cast<double>(base), n_pairs);
  DoubleDouble power{1, 0};
  for (size_t i = 0; i < n_pairs; ++i) {
    const double divisor =
        scaling.divisors.empty() ? 1.0 : static_cast<double>(scaling.divisors[i]);
    const DoubleDouble stretched = divide(power, static_cast<double>(scaling.factor));
    frequencies_.push_back(divide(stretched, divisor));
    power = multiply(power, ratio);
  }
}

SinCos RopeFrequencies::at(size_t position, size_t pair) const {
  return sin_cos(multiply(frequencies_[pair], {static_cast<double>(position), 0}));
}

RopeTable make_rope_table(Context& cx,
                          const RopeFrequencies& frequencies,
                          RopePairing pairing,
                          std::span<const size_t> positions) {
  const size_t n_pairs = frequencies.n_pairs();
  const Tensor<float, Seq, Pair> cos = cx.arena.tensor<Seq, Pair>({positions.size(), n_pairs});
  const Tensor<float, Seq, Pair> sin = cx.arena.tensor<Seq, Pair>({positions.size(), n_pairs});
  constexpr size_t kCostOfAnAngle = 64;  // in numbers of a row kernel
  for_each_row(cx, positions.size(), n_pairs * kCostOfAnAngle, [&](size_t row) {
    for (size_t pair = 0; pair < n_pairs; ++pair) {
      const SinCos angle = frequencies.at(positions[row], pair);
      cos(row, pair) = angle.cos;
      sin(row, pair) = angle.sin;
    }
  });
  return {cos, sin, pairing};
}

namespace detail {

void rotate_heads(Context& cx,
                  Tensor<float, Seq, Head, Dim> x,
                  const RopeTable& table,
                  const Norm<Dim>* norm) {
  const size_t n_rows = x.extent<Seq>(), n_heads = x.extent<Head>(), head_dim = x.extent<Dim>();
  const size_t n_pairs = table.cos.extent<Pair>();
  assert(table.cos.extent<Seq>() == n_rows && 2 * n_pairs == head_dim && x.stride<Dim>() == 1);
  assert(norm == nullptr || norm->weight.size() == head_dim);
  const RowKernels& kernels = cx.kernels.rows;
  const auto rotate =
      table.pairing == RopePairing::half ? kernels.rope_half : kernels.rope_interleaved;
  for_each_row(cx, n_rows, n_heads * head_dim, [&](size_t row) {
    const float* cos = table.cos.select<Seq>(row).span().data();
    const float* sin = table.sin.select<Seq>(row).span().data();
    for (size_t h = 0; h < n_heads; ++h) {
      float* head = x.data() + row * x.stride<Seq>() + h * x.stride<Head>();
      if (norm) kernels.rms_norm(head, norm->weight.data(), norm->eps, head_dim, head);
      rotate(head, cos, sin, n_pairs);
    }
  });
}

}  // namespace detail
}  // namespace maglio

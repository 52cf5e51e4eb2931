// RMSNorm: y = x / sqrt(mean(x^2) + eps) * weight     (Zhang & Sennrich 2019, eq. 4)
//
// Applied to the residual stream before each block, so that every block reads rows of unit scale.
#pragma once

#include <cstddef>
#include <span>

#include "ops/context.h"
#include "tensor/tensor.h"

namespace maglio {

// Borrows the weight: [extent of A].
template <class A>
struct Norm {
  std::span<const float> weight;
  float eps = 0;
};

namespace detail {

struct RowsToNorm {
  const float* x;  // [n_rows, width], row r at x + r * stride
  size_t stride;
  size_t n_rows;
};
void rms_norm(
    Context& cx, const RowsToNorm& rows, std::span<const float> weight, float eps, float* out);

}  // namespace detail

// Each row normalised, in the arena. Requires: the weight is as long as the axis.
template <class T, class R, class A>
Tensor<float, R, A> rms_norm(Context& cx, Tensor<T, R, A> x, const Norm<A>& norm) {
  const size_t n_rows = x.template extent<R>();
  Tensor<float, R, A> y = cx.arena.tensor<R, A>({n_rows, x.template extent<A>()});
  detail::rms_norm(cx, {x.data(), x.template stride<R>(), n_rows}, norm.weight, norm.eps, y.data());
  return y;
}

}  // namespace maglio

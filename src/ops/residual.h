// The residual stream: the one tensor that every block reads, and adds its contribution to.
#pragma once

#include <cstddef>
#include <span>

#include "ops/context.h"
#include "tensor/tensor.h"

namespace maglio {

// x += contribution, in place. Requires: one shape.
void add(Context& cx, Tensor<float, Seq, Embed> x, Tensor<const float, Seq, Embed> contribution);

namespace detail {

void add_to_rows(Context& cx, float* x, size_t stride, size_t n_rows, std::span<const float> bias);
// Moves row rows[i] to place i.
void keep_rows(float* x, size_t stride, size_t width, std::span<const size_t> rows);

}  // namespace detail

// Borrows the numbers: [extent of A].
template <class A>
struct Bias {
  std::span<const float> values;
};

// x += bias, on every row, in place. Requires: the bias is as long as the axis.
template <class R, class A>
void add(Context& cx, Tensor<float, R, A> x, const Bias<A>& bias) {
  detail::add_to_rows(cx, x.data(), x.template stride<R>(), x.template extent<R>(), bias.values);
}

// The rows of x named by `rows`, moved to the front of x's own memory: nothing is copied aside.
// Requires: rows ascends.
template <class A>
Tensor<float, Seq, A> keep_rows(Tensor<float, Seq, A> x, std::span<const size_t> rows) {
  detail::keep_rows(x.data(), x.template stride<Seq>(), x.template extent<A>(), rows);
  return x.template narrow<Seq>(0, rows.size());
}

}  // namespace maglio

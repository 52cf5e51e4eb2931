// Steps whose result only products read: each row is rounded for them (ops/linear.h) as soon as it
// is computed, while it lies in the first-level cache. The same bits as the two steps one after the
// other, without a trip to memory and, in a decode step, with one round of the threads less.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <span>
#include <tuple>
#include <type_traits>

#include "base/thread_pool.h"
#include "ops/context.h"
#include "ops/linear.h"
#include "ops/norm.h"
#include "ops/rows.h"
#include "tensor/tensor.h"

namespace maglio {
namespace detail {

// Memory for rows that are still to be rounded, by activation class; null where nobody reads it.
struct RoundedRows {
  size_t n_rows;
  size_t n_in;
  std::array<std::byte*, kActivationClasses> by_class{};

  // In the arena.
  RoundedRows(Context& cx, size_t rows, size_t in, std::span<const DType> weights);
  // Rounds x [n_in] as row `row`.
  void set(const Context& cx, size_t row, const float* x) const;
  QuantBuffers buffers() const;
};

// make(row, out [n_in]) computes a row.
template <class Make>
QuantBuffers round_made_rows(
    Context& cx, size_t n_rows, size_t n_in, std::span<const DType> weights, const Make& make) {
  const RoundedRows rounded(cx, n_rows, n_in, weights);
  const Arena::Scope scope(cx.arena);
  float* const scratch = cx.arena.array<float>(cx.pool.size() * n_in);  // a row for each thread
  const size_t grain = std::max<size_t>(1, kNumbersWorthAThread / n_in);
  cx.pool.parallel_for(n_rows, grain, [&](size_t begin, size_t end, size_t thread_i) {
    float* const x = scratch + thread_i * n_in;
    for (size_t row = begin; row < end; ++row) {
      make(row, x);
      rounded.set(cx, row, x);
    }
  });
  return rounded.buffers();
}

}  // namespace detail

// rms_norm(x), rounded for the projections, and the weights besides, that read it. In the arena.
template <class T, class R, class In, class... Outs, class... Others>
QuantRows<R, In> rounded_rms_norm(Context& cx,
                                  Tensor<T, R, In> x,
                                  const Norm<In>& norm,
                                  const Projections<In, Outs...>& readers,
                                  const Weight<Others, In>&... others) {
  const std::array<DType, sizeof...(Outs) + sizeof...(Others)> dtypes = std::apply(
      [&](const auto&... w) { return std::array{w.matrix.dtype..., others.matrix.dtype...}; },
      readers.parts);
  assert(norm.weight.size() == x.template extent<In>());
  const size_t n_in = norm.weight.size();
  return {detail::round_made_rows(
      cx, x.template extent<R>(), n_in, dtypes, [&](size_t row, float* out) {
        cx.kernels.rows.rms_norm(x.data() + row * x.template stride<R>(), norm.weight.data(),
                                 norm.eps, n_in, out);
      })};
}

// swiglu(gate, up), rounded for the weight that reads it. In the arena.
// Requires: gate and up have one shape.
template <class Out, class Inner>
QuantRows<Seq, Inner> rounded_swiglu(Context& cx,
                                     std::type_identity_t<Tensor<const float, Seq, Inner>> gate,
                                     std::type_identity_t<Tensor<const float, Seq, Inner>> up,
                                     const Weight<Out, Inner>& reader) {
  const size_t n = gate.template extent<Inner>(), n_rows = gate.template extent<Seq>();
  assert(up.template extent<Seq>() == n_rows && up.template extent<Inner>() == n);
  return {detail::round_made_rows(
      cx, n_rows, n, {&reader.matrix.dtype, 1}, [&](size_t row, float* out) {
        cx.kernels.rows.swiglu(gate.template select<Seq>(row).span().data(),
                               up.template select<Seq>(row).span().data(), n, out);
      })};
}

}  // namespace maglio

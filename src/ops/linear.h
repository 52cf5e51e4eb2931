// Matrix products: out[row, o] = sum over k of x[row, k] * w[o, k].
//
// A Weight<Out, In> is a matrix that says which axis it consumes and which it produces, so
// the signature of linear() is the rule: what is contracted must be the weight's In.
//
//   const QuantRows<Seq, Embed> h = quantize(cx, x, layer.q, layer.k, layer.v);
//   Tensor<float, Seq, Query> q = linear(cx, h, layer.q);
//
// Quantized weights multiply with quantized activations. Rounding them is work that all matrices
// reading the same input can share, so the rounded rows are a value of their own, QuantRows, made
// once and passed to each of them. Threads share the outputs, never a sum.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "kernels/kernels.h"
#include "ops/context.h"
#include "tensor/tensor.h"

namespace maglio {

// A matrix [n_out, n_in], packed: in panels of kPanelRows rows, as FormatKernels::pack_panel leaves
// them; or raw: in rows, as the file stores them. A raw one is packed panel by panel whenever it is
// read, so both give the same bits and packing is only speed. Borrows its bytes.
struct WeightMatrix {
  DType dtype = DType::F32;
  size_t n_out = 0;
  size_t n_in = 0;
  const std::byte* panels = nullptr;  // start at a cache line; null: raw
  const std::byte* rows = nullptr;    // of a raw one

  bool is_packed() const { return panels != nullptr; }
  size_t n_panels() const { return (n_out + kPanelRows - 1) / kPanelRows; }
};

template <class Out, class In>
struct Weight {
  WeightMatrix matrix;
};

namespace detail {

// Rows of activations in each of the classes that somebody will read; null for the others.
struct QuantBuffers {
  size_t n_rows = 0;
  size_t n_in = 0;
  std::array<const std::byte*, kActivationClasses> by_class{};
};

struct RowsToQuantize {
  const float* x;  // [n_rows, n_in], row r at x + r * stride
  size_t stride;
  size_t n_rows;
  size_t n_in;
};

void quantize_for(Context& cx, const RowsToQuantize& rows, DType weights, QuantBuffers& buffers);

// One product, and where its outputs go: [x.n_rows, w.n_out], row r at out + r * out_stride.
struct Product {
  QuantBuffers x;
  WeightMatrix w;
  float* out;
  size_t out_stride;
};
// All of them in one piece of work for the threads. Requires: each x was quantized for its w.
void multiply(Context& cx, std::span<const Product> products);

}  // namespace detail

// Rows over In, rounded for the weights they were made for. In the arena.
template <class R, class In>
struct QuantRows {
  detail::QuantBuffers buffers;
};

// x rounded as the named weights want it, once for each activation class among them.
template <class T, class R, class In, class... Outs>
QuantRows<R, In> quantize(Context& cx, Tensor<T, R, In> x, const Weight<Outs, In>&... weights) {
  const size_t n_rows = x.template extent<R>();
  const size_t n_in = x.template extent<In>();
  QuantRows<R, In> rows{{.n_rows = n_rows, .n_in = n_in}};
  const detail::RowsToQuantize source{x.data(), x.template stride<R>(), n_rows, n_in};
  (detail::quantize_for(cx, source, weights.matrix.dtype, rows.buffers), ...);
  return rows;
}

// In the arena. Requires: x was quantized for a weight of w's format.
template <class R, class Contracted, class Out>
Tensor<float, R, Out> linear(Context& cx,
                             const QuantRows<R, Contracted>& x,
                             const Weight<Out, Contracted>& w) {
  Tensor<float, R, Out> out = cx.arena.tensor<R, Out>({x.buffers.n_rows, w.matrix.n_out});
  const detail::Product product{x.buffers, w.matrix, out.data(), w.matrix.n_out};
  detail::multiply(cx, {&product, 1});
  return out;
}

// For an input that only one weight reads, into the caller's memory.
template <class T, class R, class Contracted, class Out>
void linear_into(Context& cx,
                 Tensor<T, R, Contracted> x,
                 const Weight<Out, Contracted>& w,
                 Tensor<float, R, Out> out) {
  const Arena::Scope rounded(cx.arena);
  const QuantRows<R, Contracted> rows = quantize(cx, x, w);
  const detail::Product product{rows.buffers, w.matrix, out.data(), out.template stride<R>()};
  detail::multiply(cx, {&product, 1});
}

// The same in the arena.
template <class T, class R, class Contracted, class Out>
Tensor<float, R, Out> linear(Context& cx,
                             Tensor<T, R, Contracted> x,
                             const Weight<Out, Contracted>& w) {
  Tensor<float, R, Out> out = cx.arena.tensor<R, Out>({x.template extent<R>(), w.matrix.n_out});
  linear_into(cx, x, w, out);
  return out;
}

// Matrices that read the same input: queries, keys and values; gate and up. Where their formats
// match they lie one after the other in memory and are, besides, one matrix: one wider product
// instead of several. Decided once, at load; mixed formats decline and stay usable.
template <class In, class... Outs>
struct Projections {
  std::tuple<Weight<Outs, In>...> parts;
  std::optional<WeightMatrix> fused;  // whole panels of each part in turn
};

// One output for each part; the views of a fused product share its rows. In the arena.
// Requires: x was quantized for all parts.
template <class R, class In, class... Outs>
std::tuple<Tensor<float, R, Outs>...> project(Context& cx,
                                              const QuantRows<R, In>& x,
                                              const Projections<In, Outs...>& projections) {
  return std::apply(
      [&](const Weight<Outs, In>&... parts) -> std::tuple<Tensor<float, R, Outs>...> {
        if (!projections.fused) return {linear(cx, x, parts)...};
        const size_t n_rows = x.buffers.n_rows;
        const size_t width = projections.fused->n_out;
        float* out = cx.arena.array<float>(n_rows * width);
        const detail::Product product{x.buffers, *projections.fused, out, width};
        detail::multiply(cx, {&product, 1});
        const auto next = [&](const WeightMatrix& part) {  // a part begins at a panel of its own
          return std::exchange(out, out + part.n_panels() * kPanelRows);
        };
        return {Tensor<float, R, Outs>(next(parts.matrix), {n_rows, parts.matrix.n_out},
                                       {width, 1})...};
      },
      projections.parts);
}

// The same of rows that nobody else reads.
template <class T, class R, class In, class... Outs>
std::tuple<Tensor<float, R, Outs>...> project(Context& cx,
                                              Tensor<T, R, In> x,
                                              const Projections<In, Outs...>& projections) {
  const auto rounded = [&](const Weight<Outs, In>&... parts) { return quantize(cx, x, parts...); };
  return project(cx, std::apply(rounded, projections.parts), projections);
}

}  // namespace maglio

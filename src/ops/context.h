// What every operation is handed first: where to run, where to put its result, what to compute
// with.
//
// Never global. Probes hang here too, so that the forward pass has no parameter for them: a test or
// a parity check sets one and sees every named intermediate; without one they cost a comparison.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "kernels/kernels.h"
#include "tensor/arena.h"

namespace maglio {

class ThreadPool;

// A named intermediate of the forward pass, as a probe sees it.
struct ProbedRows {
  std::string_view name;  // as llama.cpp's graph names it, where it has it ("ffn_out", ...)
  size_t layer;
  const float* data;  // [n_rows, width], row r at data + r * stride
  size_t n_rows;
  size_t width;
  size_t stride;
};
using Probe = std::function<void(const ProbedRows&)>;

// Borrows all of it. One Context serves one thread of control.
struct Context {
  ThreadPool& pool;
  Arena& arena;
  const Kernels& kernels;
  Probe probe = nullptr;
};

template <class T, class R, class A>
void probe(const Context& cx, std::string_view name, size_t layer, Tensor<T, R, A> x) {
  if (!cx.probe) return;
  cx.probe({name, layer, x.data(), x.template extent<R>(), x.template extent<A>(),
            x.template stride<R>()});
}

}  // namespace maglio

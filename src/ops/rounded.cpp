#include "ops/rounded.h"

namespace maglio::detail {

RoundedRows::RoundedRows(Context& cx, size_t rows, size_t in, std::span<const DType> weights)
    : n_rows(rows), n_in(in) {
  for (const DType dtype : weights) {
    const ActivationClass activation = format_kernels(cx.kernels, dtype).activation;
    std::byte*& buffer = by_class[static_cast<size_t>(activation)];
    if (buffer == nullptr) {
      buffer = cx.arena.bytes(cx.kernels.activation(activation).bytes(n_rows, n_in));
    }
  }
}

void RoundedRows::set(const Context& cx, size_t row, const float* x) const {
  for (size_t c = 0; c < kActivationClasses; ++c) {
    if (by_class[c] == nullptr) continue;
    constexpr size_t kEveryRowIsX = 0;  // bytes from a row to the next
    cx.kernels.activations[c].quantize(x, kEveryRowIsX, n_rows, n_in, row, row + 1, by_class[c]);
  }
}

QuantBuffers RoundedRows::buffers() const {
  QuantBuffers buffers{.n_rows = n_rows, .n_in = n_in};
  std::copy(by_class.begin(), by_class.end(), buffers.by_class.begin());
  return buffers;
}

}  // namespace maglio::detail

// Products of F32, F16 and BF16 weights with f32 activations:
//   acc = fma(w_k, x_k, acc), k ascending, one chain for each output.
#pragma once

#include "kernels/generic/panel.inl"

namespace maglio {
namespace {

inline F32x16 load_weights(const float* p) {
  return load(p);
}
inline F32x16 load_weights(const Half* p) {
  return load_half(&p->bits);
}
inline F32x16 load_weights(const BFloat16* p) {
  return load_bfloat16(&p->bits);
}

// The weights of a chunk are used as they lie: widening costs no more than an expanded copy would.
template <class Element>
struct PlainFormat {
  using Chunk = F32Chunk;
  using Panel = PlainPanel<sizeof(Element)>;
  struct Packed {
    const std::byte* chunk;
  };
  static constexpr size_t kPackedRows = kAnyRows;
  static constexpr size_t kTile = kTileRows;

  // acc: [kRows][16]; a: kRows records
  template <size_t kRows>
  [[gnu::noinline]] static void multiply(const Packed& packed,
                                         const Chunk* a,
                                         size_t n_values,
                                         float* acc) {
    const auto* w = reinterpret_cast<const Element*>(packed.chunk);
    F32x16 sum[kRows];
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) sum[r] = load(acc + r * kPanelRows);
#pragma GCC unroll 2
    for (size_t k = 0; k < n_values; ++k) {
      if constexpr (sizeof(Element) == 4) {
        prefetch(reinterpret_cast<const std::byte*>(w + k * kPanelRows) + kAhead);
      } else {
        if (k % 2 == 0) prefetch(reinterpret_cast<const std::byte*>(w + k * kPanelRows) + kAhead);
      }
      const F32x16 wk = load_weights(w + k * kPanelRows);
#pragma GCC unroll 16
      for (size_t r = 0; r < kRows; ++r) sum[r] = fma(wk, broadcast(a[r].x[k]), sum[r]);
    }
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) store(acc + r * kPanelRows, sum[r]);
  }
};

}  // namespace
}  // namespace maglio

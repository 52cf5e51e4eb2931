// The product of a tile of activation rows with panels of weights, whatever the format.
//
// For each panel: few rows go straight through the packed bytes (decoding is bound by memory).
// Many rows go chunk by chunk: 256 values of the panel are expanded once into a small buffer that
// stays in the first-level cache, and every tile of rows runs over it. Both ways do the same
// operations on each output in the same order, so the switch changes no bit.
//
// A format's multiply<kRows> and expand stay functions of their own: inlined together, g++ 12
// runs out of registers and halves their speed.
#pragma once

#include "kernels/generic/pack.inl"

namespace maglio {
namespace {

// Calls body.template operator()<n>() for the n in [1, kMost] that is known only now.
template <size_t kMost, class Body>
void with_rows(size_t n, Body body) {
  if constexpr (kMost > 0) {
    if (n == kMost) {
      body.template operator()<kMost>();
    } else {
      with_rows<kMost - 1>(n, body);
    }
  }
}

// Rows [0, n) in tiles of nearly equal size, at most kTileRows each: 8 rows are 4 + 4, not 6 + 2.
template <class Body>
void each_tile(size_t n, Body body) {
  const size_t n_tiles = (n + kTileRows - 1) / kTileRows;
  for (size_t t = 0; t < n_tiles; ++t) body(t * n / n_tiles, (t + 1) * n / n_tiles);
}

// Scratch: sums [n_rows][16] f32, then the expanded chunk.
template <class Format>
size_t matmul_scratch_bytes(size_t n_rows, size_t) {
  return n_rows * kPanelRows * sizeof(float) + round_up_64(sizeof(typename Format::Expanded));
}

inline void store_outputs(const MatmulTask& task, size_t panel, const float* acc) {
  const size_t first = panel * kPanelRows;
  const size_t left = task.n_outputs - first;
  for (size_t m = 0; m < task.n_rows; ++m) {
    float* out = task.out + m * task.out_stride + first;
    const F32x16 x = load(acc + m * kPanelRows);
    if (left >= kPanelRows) {
      store(out, x);
    } else {
      store_first(out, x, left);
    }
  }
}

template <class Format>
void matmul_chunk(const MatmulTask& task, const std::byte* chunk, size_t c, float* acc) {
  using Expanded = typename Format::Expanded;
  const size_t n_values = values_in_chunk(task.k, c);
  const auto* a =
      reinterpret_cast<const typename Format::Chunk*>(task.activations) + c * task.n_rows;
  if (task.n_rows <= Format::kFusedRows) {
    with_rows<Format::kFusedRows>(task.n_rows, [&]<size_t kRows>() {
      Format::template multiply<kRows>(chunk, a, n_values, acc);
    });
  } else if constexpr (sizeof(Expanded) == 1) {  // nothing to expand
    each_tile(task.n_rows, [&](size_t begin, size_t end) {
      with_rows<kTileRows>(end - begin, [&]<size_t kRows>() {
        Format::template multiply<kRows>(chunk, a + begin, n_values, acc + begin * kPanelRows);
      });
    });
  } else {
    auto& expanded = *reinterpret_cast<Expanded*>(acc + task.n_rows * kPanelRows);
    Format::expand(chunk, n_values, expanded);
    const std::byte* next = chunk + Format::Panel::chunk_bytes(n_values);
    const size_t lines = Format::Panel::chunk_bytes(kChunk) / 64;
    each_tile(task.n_rows, [&](size_t begin, size_t end) {
      const size_t first = lines * begin / task.n_rows;
      const Ahead ahead{next + first * 64, lines * end / task.n_rows - first};
      with_rows<kTileRows>(end - begin, [&]<size_t kRows>() {
        Format::template multiply<kRows>(expanded, a + begin, n_values, acc + begin * kPanelRows,
                                         ahead);
      });
    });
  }
}

template <class Format>
void matmul(const MatmulTask& task, size_t panel_begin, size_t panel_end) {
  using Panel = typename Format::Panel;
  auto* acc = reinterpret_cast<float*>(task.scratch);
  const size_t bytes = panel_bytes<Panel>(task.k);
  for (size_t p = panel_begin; p < panel_end; ++p) {
    __builtin_memset(acc, 0, task.n_rows * kPanelRows * sizeof(float));
    const std::byte* panel = task.panels + p * bytes;
    for (size_t c = 0; c < chunks_of(task.k); ++c) {
      matmul_chunk<Format>(task, panel + c * Panel::chunk_bytes(kChunk), c, acc);
    }
    store_outputs(task, p, acc);
  }
}

}  // namespace
}  // namespace maglio

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

#include "kernels/generic/panel.inl"

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

// Rows that go over all panels together: their records stay in the second-level cache, where each
// panel finds them again. Streaming 512 rows of depth 3072 past every panel instead ran at half
// speed for F16 and Q8_0 (Zen 4, 1 MB). One more expansion of a panel costs about 1 % of 96 rows.
template <class Format>
size_t rows_at_once(size_t k) {
  constexpr size_t kRecordsBytes = 512 * 1024;
  constexpr size_t kFewest = 24;
  constexpr size_t kMost = 192;
  const size_t n = kRecordsBytes / (chunks_of(k) * sizeof(typename Format::Chunk) + 1);
  const size_t bounded = n < kFewest ? kFewest : n > kMost ? kMost : n;
  return bounded / kTileRows * kTileRows;
}

struct RowBlock {
  size_t begin, end;
  size_t size() const { return end - begin; }
};

// Scratch: sums [rows][16] f32, then the expanded chunk.
template <class Format>
size_t matmul_scratch_bytes(size_t n_rows, size_t k) {
  const size_t most = rows_at_once<Format>(k);
  const size_t rows = n_rows < most ? n_rows : most;
  return rows * kPanelRows * sizeof(float) + round_up_64(sizeof(typename Format::Expanded));
}

inline void store_outputs(const MatmulTask& task, size_t panel, RowBlock rows, const float* acc) {
  const size_t first = panel * kPanelRows;
  const size_t left = task.n_outputs - first;
  for (size_t m = rows.begin; m < rows.end; ++m) {
    float* out = task.out + m * task.out_stride + first;
    const F32x16 x = load(acc + (m - rows.begin) * kPanelRows);
    if (left >= kPanelRows) {
      store(out, x);
    } else {
      store_first(out, x, left);
    }
  }
}

template <class Format>
void matmul_chunk(
    const MatmulTask& task, const std::byte* chunk, size_t c, RowBlock rows, float* acc) {
  using Expanded = typename Format::Expanded;
  const size_t n_values = values_in_chunk(task.k, c);
  const auto* records = reinterpret_cast<const typename Format::Chunk*>(task.activations);
  const auto* a = records + c * task.n_rows + rows.begin;
  if (rows.size() <= Format::kFusedRows) {
    with_rows<Format::kFusedRows>(rows.size(), [&]<size_t kRows>() {
      Format::template multiply<kRows>(chunk, a, n_values, acc);
    });
  } else if constexpr (sizeof(Expanded) == 1) {  // nothing to expand
    each_tile(rows.size(), [&](size_t begin, size_t end) {
      with_rows<kTileRows>(end - begin, [&]<size_t kRows>() {
        Format::template multiply<kRows>(chunk, a + begin, n_values, acc + begin * kPanelRows);
      });
    });
  } else {
    auto& expanded = *reinterpret_cast<Expanded*>(acc + rows.size() * kPanelRows);
    Format::expand(chunk, n_values, expanded);
    const std::byte* next = chunk + Format::Panel::chunk_bytes(n_values);
    const size_t lines = Format::Panel::chunk_bytes(kChunk) / 64;
    each_tile(rows.size(), [&](size_t begin, size_t end) {
      const size_t first = lines * begin / rows.size();
      const Ahead ahead{next + first * 64, lines * end / rows.size() - first};
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
  const size_t most = rows_at_once<Format>(task.k);
  for (size_t begin = 0; begin < task.n_rows; begin += most) {
    const size_t left = task.n_rows - begin;
    const RowBlock rows{begin, begin + (left < most ? left : most)};
    for (size_t p = panel_begin; p < panel_end; ++p) {
      const std::byte* panel = task.panels + p * bytes;
      __builtin_memset(acc, 0, rows.size() * kPanelRows * sizeof(float));
      for (size_t c = 0; c < chunks_of(task.k); ++c) {
        matmul_chunk<Format>(task, panel + c * Panel::chunk_bytes(kChunk), c, rows, acc);
      }
      store_outputs(task, p, rows, acc);
    }
  }
}

}  // namespace
}  // namespace maglio

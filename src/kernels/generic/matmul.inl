// The product of a tile of activation rows with panels of weights, whatever the format.
//
// For each panel, chunk by chunk of 256 values, every tile of rows runs over the chunk. The weights
// of a chunk are read either as they lie in the panel, which a set with instructions to spare
// always does, or, where many rows share them, expanded once into a small buffer that stays in the
// first-level cache. One multiply<kRows> serves both: it asks its Weights for vectors of small
// integers, and so does the same operations on each output in the same order.
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

// Rows [0, n) in tiles of nearly equal size, at most kTile each: 8 rows are 4 + 4, not 6 + 2.
template <size_t kTile, class Body>
void each_tile(size_t n, Body body) {
  const size_t n_tiles = (n + kTile - 1) / kTile;
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
  return bounded / Format::kTile * Format::kTile;
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
  const size_t sums = rows * kPanelRows * sizeof(float);
  if constexpr (Format::kPackedRows == kAnyRows)
    return sums;
  else
    return sums + round_up_64(sizeof(typename Format::Expanded));
}

// The outputs of a panel for a block of rows, written tile by tile as soon as they are complete.
//
// Rows lie far apart, so each of a panel's lines is a miss of its own. All rows' lines written at
// once after the last tile stalled the core for 7 % of a prompt of 512 (Q5_K, Zen 4); written
// behind each tile, asked for one tile earlier, they move while the next tile computes.
class PanelOutputs {
 public:
  PanelOutputs(const MatmulTask& task, size_t panel, RowBlock rows)
      : out_(task.out + rows.begin * task.out_stride + panel * kPanelRows),
        stride_(task.out_stride),
        n_rows_(rows.size()),
        n_outputs_(min_of(task.n_outputs - panel * kPanelRows, kPanelRows)) {}

  // Rows [begin, end) of the block will be written soon.
  void fetch(size_t begin, size_t end) const {
    for (size_t r = begin; r < min_of(end, n_rows_); ++r) prefetch_for_writing(out_ + r * stride_);
  }
  // sums: [rows][16]
  void store(size_t begin, size_t end, const float* sums) const {
    for (size_t r = begin; r < end; ++r) {
      const F32x16 x = load(sums + r * kPanelRows);
      if (n_outputs_ == kPanelRows) {
        maglio::store(out_ + r * stride_, x);
      } else {
        store_first(out_ + r * stride_, x, n_outputs_);
      }
    }
  }

 private:
  static size_t min_of(size_t a, size_t b) { return a < b ? a : b; }

  float* out_;
  size_t stride_;
  size_t n_rows_;
  size_t n_outputs_;
};

// The part of the next chunk that rows [begin, end) of n_rows fetch.
template <class Format>
Ahead share_of_next(
    const std::byte* chunk, size_t n_values, size_t n_rows, size_t begin, size_t end) {
  const size_t lines = Format::Panel::chunk_bytes(kChunk) / 64;
  const size_t first = lines * begin / n_rows;
  return {chunk + Format::Panel::chunk_bytes(n_values) + first * 64, lines * end / n_rows - first};
}

// The sums of a tile, set to zero before its first chunk. All rows' at once were 1.6 % of a prompt
// of 512 (Q5_K, Zen 4): they do not fit the first-level cache beside a chunk, a tile's do.
inline void clear_sums(size_t begin, size_t end, float* acc) {
  for (size_t r = begin; r < end; ++r) store(acc + r * kPanelRows, zero_f32());
}

// Where a chunk stands in its panel: at first sums are zero, at last they are complete.
struct ChunkPlace {
  bool is_first;
  const PanelOutputs* complete;  // where the sums go after the last chunk; else null
};

// Reads the weights as they lie. One tile goes through them once, at the speed of memory; more stay
// with a chunk so long that nothing but they themselves could fetch the next one in time.
template <class Format>
void matmul_packed(const std::byte* chunk,
                   const typename Format::Chunk* a,
                   size_t n_rows,
                   size_t n_values,
                   float* acc,
                   const ChunkPlace& place) {
  each_tile<Format::kTile>(n_rows, [&](size_t begin, size_t end) {
    if (place.is_first) clear_sums(begin, end, acc);
    if (place.complete != nullptr) place.complete->fetch(end, end + Format::kTile);
    with_rows<Format::kTile>(end - begin, [&]<size_t kRows>() {
      typename Format::Packed packed{chunk};
      packed.next = n_rows > Format::kTile
                        ? share_of_next<Format>(chunk, n_values, n_rows, begin, end)
                        : further_on<typename Format::Panel, kRows>(chunk, n_values);
      Format::template multiply<kRows>(packed, a + begin, n_values, acc + begin * kPanelRows);
    });
    if (place.complete != nullptr) place.complete->store(begin, end, acc);
  });
}

template <class Format>
void matmul_expanded(const std::byte* chunk,
                     const typename Format::Chunk* a,
                     size_t n_rows,
                     size_t n_values,
                     float* acc,
                     const ChunkPlace& place) {
  // This chunk expanded and the next one as it lies: more than half of the first-level cache.
  constexpr bool kCrowds =
      sizeof(typename Format::Expanded) + Format::Panel::chunk_bytes(kChunk) > 16384;
  auto& expanded = *reinterpret_cast<typename Format::Expanded*>(acc + n_rows * kPanelRows);
  Format::expand(typename Format::Packed{chunk}, n_values, expanded);
  each_tile<Format::kTile>(n_rows, [&](size_t begin, size_t end) {
    if (place.is_first) clear_sums(begin, end, acc);
    if (place.complete != nullptr) place.complete->fetch(end, end + Format::kTile);
    expanded.next = share_of_next<Format>(chunk, n_values, n_rows, begin, end);
    expanded.next.is_far = kCrowds;
    with_rows<Format::kTile>(end - begin, [&]<size_t kRows>() {
      Format::template multiply<kRows>(expanded, a + begin, n_values, acc + begin * kPanelRows);
    });
    if (place.complete != nullptr) place.complete->store(begin, end, acc);
  });
}

template <class Format>
void matmul_chunk(const MatmulTask& task,
                  const std::byte* chunk,
                  size_t c,
                  RowBlock rows,
                  float* acc,
                  const ChunkPlace& place) {
  const size_t n_values = values_in_chunk(task.k, c);
  const auto* records = reinterpret_cast<const typename Format::Chunk*>(task.activations);
  const auto* a = records + c * task.n_rows + rows.begin;
  if constexpr (Format::kPackedRows != kAnyRows) {
    if (rows.size() > Format::kPackedRows) {
      matmul_expanded<Format>(chunk, a, rows.size(), n_values, acc, place);
      return;
    }
  }
  matmul_packed<Format>(chunk, a, rows.size(), n_values, acc, place);
}

template <class Format>
void matmul(const MatmulTask& task, size_t panel_begin, size_t panel_end) {
  using Panel = typename Format::Panel;
  auto* acc = reinterpret_cast<float*>(task.scratch);
  const size_t bytes = panel_bytes<Panel>(task.k);
  const size_t most = rows_at_once<Format>(task.k);
  const size_t n_chunks = chunks_of(task.k);
  for (size_t begin = 0; begin < task.n_rows; begin += most) {
    const size_t left = task.n_rows - begin;
    const RowBlock rows{begin, begin + (left < most ? left : most)};
    for (size_t p = panel_begin; p < panel_end; ++p) {
      const std::byte* panel = task.panels + p * bytes;
      const PanelOutputs outputs(task, p, rows);
      outputs.fetch(0, Format::kTile);
      for (size_t c = 0; c < n_chunks; ++c) {
        matmul_chunk<Format>(task, panel + c * Panel::chunk_bytes(kChunk), c, rows, acc,
                             {c == 0, c + 1 == n_chunks ? &outputs : nullptr});
      }
    }
  }
}

}  // namespace
}  // namespace maglio

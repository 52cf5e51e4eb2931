// F32 and F16: weights as they are. Products with f32 activations:
//   acc = fma(w_k, x_k, acc), k ascending, one chain for each output.
#pragma once

#include "kernels/generic/pack.inl"
#include "kernels/generic/unpack.inl"

namespace maglio {
namespace {

// --- Layout ------------------------------------------------------------------------------------

// [k][16]
template <size_t kElementBytes>
struct PlainPanel {
  static constexpr size_t chunk_bytes(size_t n_values) {
    return round_up_64(n_values * kPanelRows * kElementBytes);
  }
};

// --- Packing and unpacking ---------------------------------------------------------------------

// Formats without blocks: panel [k][16] of the file's elements. V: a vector of them.
template <class Element, class V>
void pack_plain_panel(
    const std::byte* rows, size_t row_bytes, size_t n, size_t k, std::byte* panel) {
  constexpr size_t kLength = sizeof(V) / sizeof(Element);
  const std::byte* const next = rows + kPanelRows * row_bytes;
  const PanelRows all{rows, row_bytes, n, next};
  const size_t whole = k / kLength * kLength;
  for (size_t i = 0; i < whole; i += kLength) {
    const PanelRows at{rows + i * sizeof(Element), row_bytes, n, next};
    for (size_t line = 0; line < 4; ++line)
      prefetch(next + i * kPanelRows * sizeof(Element) + line * 64);
    for (size_t lane = 0; lane < kPanelRows; lane += kLength) {
      V v[kLength];
      for (size_t r = 0; r < kLength; ++r) v[r] = load_vector<V>(at[lane + r]);
      transpose<kLength>(v);
      for (size_t r = 0; r < kLength; ++r) {
        store_vector(panel + ((i + r) * kPanelRows + lane) * sizeof(Element), v[r]);
      }
    }
  }
  const size_t packed = whole * kPanelRows * sizeof(Element);
  __builtin_memset(panel + packed, 0, panel_bytes<PlainPanel<sizeof(Element)>>(k) - packed);
  for (size_t i = whole; i < k; ++i) {
    for (size_t lane = 0; lane < n; ++lane) {
      __builtin_memcpy(panel + (i * kPanelRows + lane) * sizeof(Element),
                       all[lane] + i * sizeof(Element), sizeof(Element));
    }
  }
}

inline float to_float(float x) {
  return x;
}

template <class Element>
void unpack_plain_row(const std::byte* panel, size_t lane, size_t k, float* out) {
  for (size_t i = 0; i < k; ++i) {
    Element e{};
    __builtin_memcpy(&e, panel + (i * kPanelRows + lane) * sizeof(Element), sizeof(Element));
    out[i] = to_float(e);
  }
}

// --- Reading for products ----------------------------------------------------------------------

inline F32x16 load_weights(const float* p) {
  return load(p);
}
inline F32x16 load_weights(const Half* p) {
  return load_half(&p->bits);
}

// The weights of a chunk are used as they lie: widening costs no more than an expanded copy would.
template <class Element>
struct PlainFormat {
  using Chunk = F32Chunk;
  using Panel = PlainPanel<sizeof(Element)>;
  struct Packed {
    const std::byte* chunk;
    Ahead next = {};
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
    for (size_t b = 0; b < blocks_of(n_values); ++b) {
      packed.next.fetch(b, kChunkBlocks);
      const size_t left = n_values - b * 32;
      const size_t end = left < 32 ? n_values : b * 32 + 32;
#pragma GCC unroll 2
      for (size_t k = b * 32; k < end; ++k) {
        const F32x16 wk = load_weights(w + k * kPanelRows);
#pragma GCC unroll 16
        for (size_t r = 0; r < kRows; ++r) sum[r] = fma(wk, broadcast(a[r].x[k]), sum[r]);
      }
    }
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) store(acc + r * kPanelRows, sum[r]);
  }
};

}  // namespace
}  // namespace maglio

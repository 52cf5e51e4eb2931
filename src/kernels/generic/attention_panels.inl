// The panels of a page as the products read them, and the product itself.
//
// A panel answers row(i): the 32 columns of row i as f32. The formats differ in this one function.
#pragma once

#include "kernels/generic/attention_pages.inl"

namespace maglio {
namespace {

constexpr size_t kPrefetchBytes = 4096;  // how far ahead of its use a cache line is asked for

inline void prefetch_ahead(const void* p) {
  prefetch(static_cast<const char*>(p) + kPrefetchBytes);
}

template <size_t kVectors>
struct Columns {
  F32x16 v[kVectors];
};

struct PlainPanelF32 {
  const float* p;
  inline Columns<2> row(size_t i) const {
    const float* at = p + i * kPanel;
    return {{load(at), load(at + kLanes)}};
  }
};

struct PlainPanelF16 {
  const uint16_t* p;
  inline Columns<2> row(size_t i) const {
    const uint16_t* at = p + i * kPanel;
    prefetch_ahead(at);
    return {{load_half(at), load_half(at + kLanes)}};
  }
};

// Half a panel, expanded: [rows][16].
struct ExpandedPanel {
  const float* p;
  inline Columns<1> row(size_t i) const { return {{load(p + i * kLanes)}}; }
};

inline PlainPanelF32 plain_panel(const float* p) {
  return {p};
}
inline PlainPanelF16 plain_panel(const uint16_t* p) {
  return {p};
}

template <class Number>
struct PlainPages {
  static inline auto keys(const std::byte* page, size_t head_dim, size_t panel, float*) {
    return plain_panel(reinterpret_cast<const Number*>(page) + panel * head_dim * kPanel);
  }
  static inline auto values(const std::byte* page, size_t panel, float*) {
    return plain_panel(reinterpret_cast<const Number*>(page) + panel * kPageKeys * kPanel);
  }
};

inline Columns<2> load_quants(const std::byte* at) {
  const auto* q = reinterpret_cast<const int8_t*>(at);
  return {{to_f32(load_s8(q)), to_f32(load_s8(q + kLanes))}};
}

// Rows are channels: 32 scales, one a column, serve the 32 rows of a block.
struct Q8KeyPanel {
  const std::byte* quants;
  const float* scales;  // [blocks][32]
  inline Columns<2> row(size_t i) const {
    const std::byte* at = quants + i * kPanel;
    prefetch_ahead(at);
    const Columns<2> q = load_quants(at);
    const float* d = scales + i / kQuantBlock * kPanel;
    return {{mul(load(d), q.v[0]), mul(load(d + kLanes), q.v[1])}};
  }
};

// Rows are keys: one scale a row.
struct Q8ValuePanel {
  const std::byte* quants;
  const float* scales;  // [64]
  inline Columns<2> row(size_t i) const {
    const F32x16 d = broadcast(scales[i]);
    const std::byte* at = quants + i * kPanel;
    prefetch_ahead(at);
    const Columns<2> q = load_quants(at);
    return {{mul(d, q.v[0]), mul(d, q.v[1])}};
  }
};

// n f16 scales, a multiple of 16, widened.
inline void widen_scales(const std::byte* from, size_t n, float* scales) {
  const auto* bits = reinterpret_cast<const uint16_t*>(from);
  for (size_t i = 0; i < n; i += kLanes) store(scales + i, load_half(bits + i));
}

struct Q8Pages {
  static inline Q8KeyPanel keys(const std::byte* page,
                                size_t head_dim,
                                size_t panel,
                                float* scales) {
    const size_t n_scales = head_dim / kQuantBlock * kPanel;
    const std::byte* p = page + panel * key_panel_bytes(head_dim);
    widen_scales(p, n_scales, scales);
    return {p + 2 * n_scales, scales};
  }
  static inline Q8ValuePanel values(const std::byte* page, size_t panel, float* scales) {
    const std::byte* p = page + panel * kValuePanelBytes;
    widen_scales(p, kPageKeys, scales);
    return {p + 2 * kPageKeys, scales};
  }
};

// --- The product ---------------------------------------------------------------------------------
struct RowRange {
  size_t begin, end;
};

// x [n, rows] and the columns of out [n, ...] that it is multiplied into.
struct Operand {
  const float* x;
  size_t x_stride;
  float* out;
  size_t out_stride;

  inline Operand from(size_t i) const {
    return {x + i * x_stride, x_stride, out + i * out_stride, out_stride};
  }
  inline Operand columns(size_t first) const { return {x, x_stride, out + first, out_stride}; }
};

// out[i] += sum over rows r of the range, ascending, of x[i][r] * row(r), for kTile entries i.
template <size_t kTile, size_t kVectors, class Panel>
inline void multiply_tile(const Panel& panel, RowRange rows, const Operand& a) {
  if (rows.begin >= rows.end) return;
  F32x16 acc[kTile][kVectors];
#pragma GCC unroll 8
  for (size_t i = 0; i < kTile; ++i) {
#pragma GCC unroll 2
    for (size_t v = 0; v < kVectors; ++v) acc[i][v] = load(a.out + i * a.out_stride + v * kLanes);
  }
  for (size_t r = rows.begin; r < rows.end; ++r) {
    const Columns<kVectors> w = panel.row(r);
#pragma GCC unroll 8
    for (size_t i = 0; i < kTile; ++i) {
      const F32x16 x = broadcast(a.x[i * a.x_stride + r]);
#pragma GCC unroll 2
      for (size_t v = 0; v < kVectors; ++v) acc[i][v] = fma(x, w.v[v], acc[i][v]);
    }
  }
#pragma GCC unroll 8
  for (size_t i = 0; i < kTile; ++i) {
#pragma GCC unroll 2
    for (size_t v = 0; v < kVectors; ++v) store(a.out + i * a.out_stride + v * kLanes, acc[i][v]);
  }
}

// Rows of a panel as two half panels of [stride][16] f32.
template <class Panel>
inline void expand(const Panel& panel, RowRange rows, float* out, size_t stride) {
  for (size_t r = rows.begin; r < rows.end; ++r) {
    const Columns<2> w = panel.row(r);
    store(out + r * kLanes, w.v[0]);
    store(out + (stride + r) * kLanes, w.v[1]);
  }
}

template <size_t kSize>
struct Tile {
  static constexpr size_t size = kSize;
};

// Calls f(Tile, first) for tiles that cover [0, n): the largest size first, then 4, 2, 1.
template <size_t kLargest, class F>
inline void for_each_tile(size_t n, F f) {
  size_t i = 0;
  for (; i + kLargest <= n; i += kLargest) f(Tile<kLargest>{}, i);
  if constexpr (kLargest > 4) {
    for (; i + 4 <= n; i += 4) f(Tile<4>{}, i);
  }
  for (; i + 2 <= n; i += 2) f(Tile<2>{}, i);
  for (; i < n; ++i) f(Tile<1>{}, i);
}

}  // namespace
}  // namespace maglio

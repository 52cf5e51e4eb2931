// The panels of a page as the products read them, and the product itself.
//
// A panel answers row<n>(i): the first n vectors of row i as f32; from(v): itself from vector v on;
// and block(b): its rows [b * kBlock, (b + 1) * kBlock), which share what can be loaded once.
#pragma once

#include "kernels/generic/attention_pages.inl"
#include "kernels/generic/panel.inl"

namespace maglio {
namespace {

// A line of a page has been read: the one kAhead bytes further is next, where fetching it pays.
inline void fetch_ahead(const void* p) {
  if constexpr (kAhead > 0) prefetch(static_cast<const std::byte*>(p) + kAhead);
}

// The first kVectors vectors of a row, as f32.
template <size_t kVectors>
struct Columns {
  F32x16 v[kVectors];
};

// Rows whose numbers stand for themselves need no blocks.
constexpr size_t kWhole = ~size_t{0};

struct PlainPanelF32 {
  static constexpr size_t kBlock = kWhole;
  const float* p;
  inline PlainPanelF32 block(size_t) const { return *this; }
  inline PlainPanelF32 from(size_t vector) const { return {p + vector * kLanes}; }
  template <size_t kVectors>
  inline Columns<kVectors> row(size_t i) const {
    Columns<kVectors> w;
    for (size_t v = 0; v < kVectors; ++v) w.v[v] = load(p + i * kPanel + v * kLanes);
    return w;
  }
};

struct PlainPanelF16 {
  static constexpr size_t kBlock = kWhole;
  const uint16_t* p;
  inline PlainPanelF16 block(size_t) const { return *this; }
  inline PlainPanelF16 from(size_t vector) const { return {p + vector * kLanes}; }
  template <size_t kVectors>
  inline Columns<kVectors> row(size_t i) const {
    const uint16_t* at = p + i * kPanel;
    Columns<kVectors> w;
    for (size_t v = 0; v < kVectors; ++v) w.v[v] = load_half(at + v * kLanes);
    return w;
  }
};

// One vector of a panel's columns, expanded: [rows][16].
struct ExpandedPanel {
  static constexpr size_t kBlock = kWhole;
  const float* p;
  inline ExpandedPanel block(size_t) const { return *this; }
  template <size_t kVectors>
  inline Columns<kVectors> row(size_t i) const {
    static_assert(kVectors == 1);
    return {{load(p + i * kLanes)}};
  }
};

inline PlainPanelF32 plain_panel(const float* p) {
  return {p};
}
inline PlainPanelF16 plain_panel(const uint16_t* p) {
  return {p};
}

template <class Number>
struct PlainPages {
  static constexpr size_t kDirectQueries = kWhole;  // never expanded
  static inline auto keys(const std::byte* page, size_t head_dim, size_t panel, float*) {
    return plain_panel(reinterpret_cast<const Number*>(page) + panel * head_dim * kPanel);
  }
  static inline auto values(const std::byte* page, size_t panel, float*) {
    return plain_panel(reinterpret_cast<const Number*>(page) + panel * kPageKeys * kPanel);
  }
};

inline F32x16 load_quants(const std::byte* at) {
  return to_f32(load_s8(reinterpret_cast<const int8_t*>(at)));
}

// Rows are channels: 32 scales, one a column, serve the 32 rows of a block.
struct Q8KeyBlock {
  const std::byte* quants;
  const float* scales;  // [32]
  template <size_t kVectors>
  inline Columns<kVectors> row(size_t i) const {
    const std::byte* at = quants + i * kPanel;
    fetch_ahead(at);
    Columns<kVectors> w;
    for (size_t v = 0; v < kVectors; ++v) {
      w.v[v] = mul(load(scales + v * kLanes), load_quants(at + v * kLanes));
    }
    return w;
  }
};
struct Q8KeyPanel {
  static constexpr size_t kBlock = kQuantBlock;
  const std::byte* quants;
  const float* scales;  // [blocks][32]
  inline Q8KeyPanel from(size_t vector) const {
    return {quants + vector * kLanes, scales + vector * kLanes};
  }
  inline Q8KeyBlock block(size_t b) const { return {quants, scales + b * kPanel}; }
  template <size_t kVectors>
  inline Columns<kVectors> row(size_t i) const {
    return block(i / kQuantBlock).row<kVectors>(i);
  }
};

// Rows are keys: one scale a row.
struct Q8ValuePanel {
  const std::byte* quants;
  const float* scales;  // [64]
  inline Q8ValuePanel from(size_t vector) const { return {quants + vector * kLanes, scales}; }
  template <size_t kVectors>
  inline Columns<kVectors> row(size_t i) const {
    const F32x16 d = broadcast(scales[i]);
    const std::byte* at = quants + i * kPanel;
    fetch_ahead(at);
    Columns<kVectors> w;
    for (size_t v = 0; v < kVectors; ++v) w.v[v] = mul(d, load_quants(at + v * kLanes));
    return w;
  }
};

// n f16 scales, a multiple of 16, widened.
inline void widen_scales(const std::byte* from, size_t n, float* scales) {
  const auto* bits = reinterpret_cast<const uint16_t*>(from);
  for (size_t i = 0; i < n; i += kLanes) {
    fetch_ahead(bits + i);  // each panel's scales leave a gap in what its rows fetch
    store(scales + i, load_half(bits + i));
  }
}

struct Q8Pages {
  static constexpr size_t kDirectQueries = kTileRows;
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

// Running sums of kTile queries in kVectors vectors of columns.
template <size_t kTile, size_t kVectors>
struct TileSums {
  F32x16 of[kTile][kVectors];

  [[gnu::always_inline]] inline void clear() {
#pragma GCC unroll 16
    for (size_t i = 0; i < kTile; ++i) {
#pragma GCC unroll 2
      for (size_t v = 0; v < kVectors; ++v) of[i][v] = zero_f32();
    }
  }
  // of[i] += sum over rows r of the range, ascending, of x[i * stride + r] * row(r).
  template <class Panel>
  [[gnu::always_inline]] inline void add(const Panel& panel,
                                         RowRange rows,
                                         const float* x,
                                         size_t stride) {
    for (size_t r = rows.begin; r < rows.end; ++r) {
      const Columns<kVectors> w = panel.template row<kVectors>(r);
#pragma GCC unroll 16
      for (size_t i = 0; i < kTile; ++i) {
        const F32x16 xi = broadcast(x[i * stride + r]);
#pragma GCC unroll 2
        for (size_t v = 0; v < kVectors; ++v) of[i][v] = fma(xi, w.v[v], of[i][v]);
      }
    }
  }
  // The same for query i alone.
  template <class Panel>
  [[gnu::always_inline]] inline void add_one(const Panel& panel,
                                             RowRange rows,
                                             const float* x,
                                             size_t i) {
    for (size_t r = rows.begin; r < rows.end; ++r) {
      const Columns<kVectors> w = panel.template row<kVectors>(r);
#pragma GCC unroll 2
      for (size_t v = 0; v < kVectors; ++v) of[i][v] = fma(broadcast(x[r]), w.v[v], of[i][v]);
    }
  }
};

// Rows of a panel as two half panels of [stride][16] f32.
template <class Panel>
inline void expand(const Panel& panel, RowRange rows, float* out, size_t stride) {
  for (size_t r = rows.begin; r < rows.end; ++r) {
    const Columns<2> w = panel.template row<2>(r);
    store(out + r * kLanes, w.v[0]);
    store(out + (stride + r) * kLanes, w.v[1]);
  }
}

template <size_t kSize>
struct Tile {
  static constexpr size_t size = kSize;
};

// f(Tile<n>) for the n in [1, kMost] that is known only now.
template <size_t kMost, class F>
inline void with_tile(size_t n, F f) {
  if constexpr (kMost > 0) {
    if (n == kMost) {
      f(Tile<kMost>{});
    } else {
      with_tile<kMost - 1>(n, f);
    }
  }
}

// Calls f(Tile, first) for tiles of nearly equal size, at most kMost, that cover [0, n).
template <size_t kMost, class F>
inline void for_each_tile(size_t n, F f) {
  const size_t n_tiles = (n + kMost - 1) / kMost;
  for (size_t t = 0; t < n_tiles; ++t) {
    const size_t first = t * n / n_tiles;
    with_tile<kMost>((t + 1) * n / n_tiles - first, [&](auto tile) { f(tile, first); });
  }
}

}  // namespace
}  // namespace maglio

// Attention of some queries over one page of keys and values.
//
//   s_j = sum over channels c, ascending, of q_c k_jc           one fma chain a score
//   m = max s_j,   p_j = exp(s_j - m),   l = sum p_j            16 lanes: key mod 16, then the tree
//   o_c = sum over visible keys j, ascending, of p_j v_jc       one fma chain an output
//
// Both products are the same loop (TileSums::add): a panel's rows one after another, its columns
// in lanes. A query's bits do not depend on the queries beside it, so tile sizes are free. Pages of
// q8_0 are expanded to f32 first where more than one tile of queries reads them; widening f16 is
// cheaper than the copy (42.6 against 43.4 GMAC/s at 96 queries, but 40 against 34 at 8; Zen 4).
//
// The result is stored (attend_page), to be folded when the pages before are known, or folded at
// once into what the pages before gave (fold_page): then no output is stored in between.
#pragma once

#include "kernels/generic/attention_fold.inl"
#include "kernels/generic/attention_pages.inl"
#include "kernels/generic/attention_panels.inl"
#include "kernels/generic/exp.inl"
#include "kernels/generic/rows.inl"
#include "kernels/kernels.h"

namespace maglio {
namespace {

// Up to so many queries take two vectors of a row at once.
constexpr size_t kWideQueries = kTileRows / 3 > 0 ? kTileRows / 3 : 1;

// One thread's scratch.
struct AttendScratch {
  float* scores;    // [n_queries, 64]
  float* expanded;  // two vectors of a page's columns
  float* scales;    // of a q8_0 panel
  float* maxima;    // the rest: [n_queries]
  float* sums;
  float* keep;  // factor of the running output
  float* take;  // factor of the page's
  size_t n_floats;

  AttendScratch(std::byte* at, size_t n_queries, size_t head_dim) {
    const size_t rows = head_dim > kPageKeys ? head_dim : kPageKeys;
    const size_t n = (n_queries + kLanes - 1) / kLanes * kLanes;
    auto* p = reinterpret_cast<float*>(at);
    const size_t sizes[] = {n * kPageKeys, rows * kPanel, rows, n, n, n, n};
    float** parts[] = {&scores, &expanded, &scales, &maxima, &sums, &keep, &take};
    n_floats = 0;
    for (size_t i = 0; i < 7; ++i) {
      *parts[i] = p + n_floats;
      n_floats += sizes[i];
    }
  }
};
inline size_t attend_scratch_bytes(size_t n_queries, size_t head_dim) {
  return AttendScratch(nullptr, n_queries, head_dim).n_floats * sizeof(float);
}

// The page's keys that one of n queries from `first` on sees; begin == end where none sees one.
inline RowRange visible_keys(const AttendPageTask& t, size_t first, size_t n) {
  RowRange all{kPageKeys, 0};
  for (size_t i = first; i < first + n; ++i) {
    if (t.key_begin[i] >= t.key_end[i]) continue;
    if (t.key_begin[i] < all.begin) all.begin = t.key_begin[i];
    if (t.key_end[i] > all.end) all.end = t.key_end[i];
  }
  return all.begin < all.end ? all : RowRange{0, 0};
}

// --- Scores --------------------------------------------------------------------------------------
// Not inlined, nor is its like below: a function of its own has the registers to itself.
template <size_t kTile, size_t kVectors, class Panel>
[[gnu::noinline]] void score_tile(
    Panel panel, size_t head_dim, const float* q, size_t q_stride, float* scores) {
  TileSums<kTile, kVectors> sums;
  sums.clear();
  for (size_t c = 0; c < head_dim; c += Panel::kBlock) {
    const size_t end = head_dim - c < Panel::kBlock ? head_dim : c + Panel::kBlock;
    sums.add(panel.block(c / Panel::kBlock), {c, end}, q, q_stride);
  }
#pragma GCC unroll 16
  for (size_t i = 0; i < kTile; ++i) {
#pragma GCC unroll 2
    for (size_t v = 0; v < kVectors; ++v) {
      store(scores + i * kPageKeys + v * kLanes, sums.of[i][v]);
    }
  }
}

// Scores of the keys from first_key on, for the tiles of queries that see one of them.
template <size_t kMost, size_t kVectors, class Panel>
inline void score_tiles(const AttendPageTask& t, Panel panel, size_t first_key, float* scores) {
  for_each_tile<kMost>(t.n_queries, [&](auto tile, size_t i) {
    const RowRange visible = visible_keys(t, i, tile.size);
    if (visible.begin >= first_key + kVectors * kLanes || visible.end <= first_key) return;
    score_tile<tile.size, kVectors>(panel, t.head_dim, t.queries + i * t.query_stride,
                                    t.query_stride, scores + i * kPageKeys + first_key);
  });
}

// scores [n_queries, 64] = q k', where the key is visible.
template <class Format>
inline void score_keys(const AttendPageTask& t, RowRange visible, const AttendScratch& scratch) {
  for (size_t p = visible.begin / kPanel; p * kPanel < visible.end; ++p) {
    const auto panel = Format::keys(t.key_page, t.head_dim, p, scratch.scales);
    const size_t first = p * kPanel;
    if (t.n_queries <= kWideQueries) {
      score_tiles<kWideQueries, 2>(t, panel, first, scratch.scores);
      continue;
    }
    const bool is_expanded = t.n_queries > Format::kDirectQueries;
    if (is_expanded) expand(panel, {0, t.head_dim}, scratch.expanded, t.head_dim);
    for (size_t v = 0; v < 2; ++v) {
      if (is_expanded) {
        const ExpandedPanel columns{scratch.expanded + v * t.head_dim * kLanes};
        score_tiles<kTileRows, 1>(t, columns, first + v * kLanes, scratch.scores);
      } else {
        score_tiles<kTileRows, 1>(t, panel.from(v), first + v * kLanes, scratch.scores);
      }
    }
  }
}

// --- Weights -------------------------------------------------------------------------------------
// Scores of one query become weights in place. Those of masked keys are left undefined.
inline void softmax_page(float* scores, size_t begin, size_t end, float* max_out, float* sum_out) {
  constexpr size_t kVectors = kPageKeys / kLanes;
  F32x16 s[kVectors];
  F32x16 highest = broadcast(-kInfinity);
  F32x16 sum = zero_f32();
  if (begin == 0 && end == kPageKeys) {
    for (size_t v = 0; v < kVectors; ++v) {
      s[v] = load(scores + v * kLanes);
      highest = max(s[v], highest);
    }
    const float m = reduce_max(highest);
    for (size_t v = 0; v < kVectors; ++v) s[v] = exponential(sub(s[v], broadcast(m)));
    for (size_t v = 0; v < kVectors; ++v) {
      sum = add(sum, s[v]);
      store(scores + v * kLanes, s[v]);
    }
    *max_out = m;
    *sum_out = reduce_add(sum);
    return;
  }
  const size_t first = begin / kLanes;
  const size_t last = (end + kLanes - 1) / kLanes;
  const auto visible = [&](size_t v, F32x16 x, F32x16 masked) {
    const auto at = static_cast<float>(v * kLanes);
    const F32x16 below = select(lanes_below(static_cast<float>(end) - at), x, masked);
    return select(lanes_below(static_cast<float>(begin) - at), masked, below);
  };
  for (size_t v = first; v < last; ++v) {
    s[v] = load(scores + v * kLanes);
    highest = max(visible(v, s[v], broadcast(-kInfinity)), highest);
  }
  const float m = reduce_max(highest);
  for (size_t v = first; v < last; ++v) {
    const F32x16 p = visible(v, exponential(sub(s[v], broadcast(m))), zero_f32());
    sum = add(sum, p);
    store(scores + v * kLanes, p);
  }
  *max_out = m;
  *sum_out = reduce_add(sum);
}

// --- Values --------------------------------------------------------------------------------------
// Where a tile's sums go. Null factors: they are stored; else they are folded into what is there.
struct TileOutput {
  float* out;
  size_t stride;
  size_t n_channels;  // from `out` on, of a row
  const float* keep;
  const float* take;
};

inline void put(const TileOutput& to, size_t i, size_t vector, F32x16 sum) {
  const size_t first = vector * kLanes;
  if (first >= to.n_channels) return;
  const size_t left = to.n_channels - first;
  const size_t lanes = left < kLanes ? left : kLanes;
  float* out = to.out + i * to.stride + first;
  if (to.keep != nullptr) {
    const F32x16 page = mul(sum, broadcast(to.take[i]));
    sum = fma(load_up_to(out, lanes), broadcast(to.keep[i]), page);
  }
  store_up_to(out, sum, lanes);
}

// The keys that all of n queries see; begin == end == 64 where there is none.
inline RowRange common_keys(const uint8_t* begins, const uint8_t* ends, size_t n) {
  RowRange common{0, kPageKeys};
  for (size_t i = 0; i < n; ++i) {
    common.begin = begins[i] > common.begin ? begins[i] : common.begin;
    common.end = ends[i] < common.end ? ends[i] : common.end;
  }
  return common.begin < common.end ? common : RowRange{kPageKeys, kPageKeys};
}

// Sums of kTile queries over the keys that each sees: those that all of them see together, what
// lies before and behind query by query. Each meets its own keys, no others, in ascending order.
template <size_t kTile, size_t kVectors, class Panel>
[[gnu::noinline]] void weigh_tile(Panel panel,
                                  const float* weights,
                                  const uint8_t* begins,
                                  const uint8_t* ends,
                                  const TileOutput& to) {
  const RowRange common = common_keys(begins, ends, kTile);
  TileSums<kTile, kVectors> sums;
  sums.clear();
  if (common.begin > 0) {
#pragma GCC unroll 16
    for (size_t i = 0; i < kTile; ++i) {
      const size_t end = ends[i] < common.begin ? ends[i] : common.begin;
      sums.add_one(panel, {begins[i], end}, weights + i * kPageKeys, i);
    }
  }
  sums.add(panel, common, weights, kPageKeys);
  if (common.end < kPageKeys) {
#pragma GCC unroll 16
    for (size_t i = 0; i < kTile; ++i) {
      sums.add_one(panel, {common.end, ends[i]}, weights + i * kPageKeys, i);
    }
  }
#pragma GCC unroll 16
  for (size_t i = 0; i < kTile; ++i) {
    if (to.keep != nullptr && begins[i] >= ends[i]) continue;  // nothing to fold
#pragma GCC unroll 2
    for (size_t v = 0; v < kVectors; ++v) put(to, i, v, sums.of[i][v]);
  }
}

template <size_t kMost, size_t kVectors, class Panel>
inline void weigh_tiles(const AttendPageTask& t,
                        Panel panel,
                        const float* weights,
                        const TileOutput& to) {
  for_each_tile<kMost>(t.n_queries, [&](auto tile, size_t i) {
    TileOutput at = to;
    at.out += i * to.stride;
    if (to.keep != nullptr) at.keep += i, at.take += i;
    weigh_tile<tile.size, kVectors>(panel, weights + i * kPageKeys, t.key_begin + i, t.key_end + i,
                                    at);
  });
}

template <class Format>
inline void weigh_values(const AttendPageTask& t,
                         RowRange visible,
                         const AttendScratch& scratch,
                         TileOutput to) {
  for (size_t p = 0; p < value_panels(t.head_dim); ++p) {
    const auto panel = Format::values(t.value_page, p, scratch.scales);
    to.out = t.outputs + p * kPanel;
    to.n_channels = t.head_dim - p * kPanel;
    if (t.n_queries <= kWideQueries) {
      weigh_tiles<kWideQueries, 2>(t, panel, scratch.scores, to);
      continue;
    }
    const bool is_expanded = t.n_queries > Format::kDirectQueries;
    if (is_expanded) expand(panel, visible, scratch.expanded, kPageKeys);
    for (size_t v = 0; v < 2 && p * kPanel + v * kLanes < t.head_dim; ++v) {
      to.out = t.outputs + p * kPanel + v * kLanes;
      to.n_channels = t.head_dim - p * kPanel - v * kLanes;
      if (is_expanded) {
        const ExpandedPanel columns{scratch.expanded + v * kPageKeys * kLanes};
        weigh_tiles<kTileRows, 1>(t, columns, scratch.scores, to);
      } else {
        weigh_tiles<kTileRows, 1>(t, panel.from(v), scratch.scores, to);
      }
    }
  }
}

// --- A page --------------------------------------------------------------------------------------
template <class Format>
inline RowRange weigh_keys(const AttendPageTask& t,
                           const AttendScratch& scratch,
                           float* maxima,
                           float* sums) {
  const RowRange visible = visible_keys(t, 0, t.n_queries);
  score_keys<Format>(t, visible, scratch);
  for (size_t i = 0; i < t.n_queries; ++i) {
    softmax_page(scratch.scores + i * kPageKeys, t.key_begin[i], t.key_end[i], maxima + i,
                 sums + i);
  }
  return visible;
}

template <class Format>
inline void attend_page(const AttendPageTask& t) {
  const AttendScratch scratch(t.scratch, t.n_queries, t.head_dim);
  const RowRange visible = weigh_keys<Format>(t, scratch, t.maxima, t.sums);
  weigh_values<Format>(t, visible, scratch, {nullptr, t.head_dim, 0, nullptr, nullptr});
}

template <class Format>
inline void fold_page(const AttendPageTask& t) {
  const AttendScratch scratch(t.scratch, t.n_queries, t.head_dim);
  const RowRange visible = weigh_keys<Format>(t, scratch, scratch.maxima, scratch.sums);
  fold_sums(t.n_queries, scratch.maxima, scratch.sums, t, scratch.keep, scratch.take);
  weigh_values<Format>(t, visible, scratch, {nullptr, t.head_dim, 0, scratch.keep, scratch.take});
}

template <class Number>
constexpr AttentionKernels plain_attention() {
  return {
      .key_page_bytes = plain_key_bytes<Number>,
      .value_page_bytes = plain_value_bytes<Number>,
      .store_keys = store_plain_keys<Number>,
      .store_values = store_plain_values<Number>,
      .load_key = load_plain_key<Number>,
      .load_value = load_plain_value<Number>,
      .attend_scratch_bytes = attend_scratch_bytes,
      .attend_page = attend_page<PlainPages<Number>>,
      .fold_page = fold_page<PlainPages<Number>>,
  };
}
constexpr AttentionKernels attention_f32_kernels() {
  return plain_attention<float>();
}
constexpr AttentionKernels attention_f16_kernels() {
  return plain_attention<uint16_t>();
}
constexpr AttentionKernels attention_q8_0_kernels() {
  return {
      .key_page_bytes = q8_0_key_bytes,
      .value_page_bytes = q8_0_value_bytes,
      .store_keys = store_q8_0<key_place>,
      .store_values = store_q8_0<value_place>,
      .load_key = load_q8_0<key_place>,
      .load_value = load_q8_0<value_place>,
      .attend_scratch_bytes = attend_scratch_bytes,
      .attend_page = attend_page<Q8Pages>,
      .fold_page = fold_page<Q8Pages>,
  };
}

}  // namespace
}  // namespace maglio

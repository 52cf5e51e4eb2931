// Attention of some queries over one page of keys and values, and the folding of pages.
//
//   s_j = sum over channels c, ascending, of q_c k_jc           one fma chain a score
//   m = max s_j,   p_j = exp(s_j - m),   l = sum p_j            16 lanes: key mod 16, then the tree
//   o_c = sum over visible keys j, ascending, of p_j v_jc       one fma chain an output
//
// Both products are the same loop (multiply_tile): a panel's rows one after another, its columns
// in lanes. A query's bits do not depend on the queries beside it, so tile sizes are free: few
// queries (decode) read the page as it is stored, many (prefill) expand it to f32 first.
#pragma once

#include "kernels/generic/attention_pages.inl"
#include "kernels/generic/attention_panels.inl"
#include "kernels/generic/exp.inl"
#include "kernels/generic/rows.inl"
#include "kernels/kernels.h"

namespace maglio {
namespace {

// From so many queries on, expanding the page once is cheaper than widening it for each tile.
constexpr size_t kExpandFrom = 5;

// Floats of one thread's scratch, by part.
struct AttendScratch {
  size_t scores, expanded, outputs, scales;
  size_t total() const { return scores + expanded + outputs + scales; }
};
inline AttendScratch attend_scratch(size_t n_queries, size_t head_dim) {
  const size_t width = value_panels(head_dim) * kPanel;
  return {.scores = n_queries * kPageKeys,
          .expanded = kPageKeys * width,  // a page of keys, later of values
          .outputs = n_queries * width,   // where head_dim needs padding
          .scales = width > kPageKeys ? width : kPageKeys};
}
inline size_t attend_scratch_bytes(size_t n_queries, size_t head_dim) {
  return attend_scratch(n_queries, head_dim).total() * sizeof(float);
}

// The page's keys that any of the queries sees; begin == end where none sees one.
inline RowRange visible_keys(const AttendPageTask& t) {
  RowRange all{kPageKeys, 0};
  for (size_t i = 0; i < t.n_queries; ++i) {
    if (t.key_begin[i] >= t.key_end[i]) continue;
    if (t.key_begin[i] < all.begin) all.begin = t.key_begin[i];
    if (t.key_end[i] > all.end) all.end = t.key_end[i];
  }
  return all.begin < all.end ? all : RowRange{0, 0};
}

// scores [n_queries, 64] += q k'. Only panels with a visible key are touched.
template <class Format>
inline void score_keys(const AttendPageTask& t, RowRange visible, float* scores, float* buffer) {
  const AttendScratch parts = attend_scratch(t.n_queries, t.head_dim);
  const RowRange channels{0, t.head_dim};
  for (size_t p = visible.begin / kPanel; p * kPanel < visible.end; ++p) {
    const auto panel = Format::keys(t.key_page, t.head_dim, p, buffer + parts.expanded);
    const Operand a{t.queries, t.query_stride, scores + p * kPanel, kPageKeys};
    if (t.n_queries < kExpandFrom) {
      for_each_tile<2>(t.n_queries, [&](auto tile, size_t i) {
        multiply_tile<tile.size, 2>(panel, channels, a.from(i));
      });
    } else {
      expand(panel, channels, buffer, t.head_dim);
      for (size_t half = 0; half < 2; ++half) {
        const ExpandedPanel columns{buffer + half * t.head_dim * kLanes};
        for_each_tile<6>(t.n_queries, [&](auto tile, size_t i) {
          multiply_tile<tile.size, 1>(columns, channels, a.columns(half * kLanes).from(i));
        });
      }
    }
  }
}

// Scores of one query become weights in place; masked ones become 0.
inline void softmax_page(float* scores, size_t begin, size_t end, float* max_out, float* sum_out) {
  F32x16 s[kPageKeys / kLanes];
  I32x16 below_begin[kPageKeys / kLanes], below_end[kPageKeys / kLanes];
  F32x16 highest = broadcast(-kInfinity);
  for (size_t v = 0; v < kPageKeys / kLanes; ++v) {
    const auto first = static_cast<float>(v * kLanes);
    below_begin[v] = lanes_below(static_cast<float>(begin) - first);
    below_end[v] = lanes_below(static_cast<float>(end) - first);
    s[v] = load(scores + v * kLanes);
    const F32x16 seen = select(below_end[v], s[v], broadcast(-kInfinity));
    highest = max(select(below_begin[v], broadcast(-kInfinity), seen), highest);
  }
  const float m = reduce_max(highest);
  F32x16 sum = zero_f32();
  for (size_t v = 0; v < kPageKeys / kLanes; ++v) {
    const F32x16 p = select(below_end[v], exponential(sub(s[v], broadcast(m))), zero_f32());
    const F32x16 weights = select(below_begin[v], zero_f32(), p);
    sum = add(sum, weights);
    store(scores + v * kLanes, weights);
  }
  *max_out = m;
  *sum_out = reduce_add(sum);
}

// outputs += weights v for queries [i, i + tile): the keys that all of them see in one tile, the
// ragged ends query by query. Every query meets its own keys, no others, in ascending order.
template <size_t kTile, size_t kVectors, class Panel>
inline void multiply_visible(const Panel& panel,
                             const Operand& a,
                             const uint8_t* begins,
                             const uint8_t* ends) {
  RowRange common{0, kPageKeys};
  for (size_t i = 0; i < kTile; ++i) {
    common.begin = begins[i] > common.begin ? begins[i] : common.begin;
    common.end = ends[i] < common.end ? ends[i] : common.end;
  }
  if (common.begin >= common.end) {
    for (size_t i = 0; i < kTile; ++i) {
      multiply_tile<1, kVectors>(panel, {begins[i], ends[i]}, a.from(i));
    }
    return;
  }
  for (size_t i = 0; i < kTile; ++i) {
    multiply_tile<1, kVectors>(panel, {begins[i], common.begin}, a.from(i));
  }
  multiply_tile<kTile, kVectors>(panel, common, a);
  for (size_t i = 0; i < kTile; ++i) {
    multiply_tile<1, kVectors>(panel, {common.end, ends[i]}, a.from(i));
  }
}

template <class Format>
inline void weigh_values(
    const AttendPageTask& t, RowRange visible, const float* weights, Operand out, float* buffer) {
  const AttendScratch parts = attend_scratch(t.n_queries, t.head_dim);
  for (size_t p = 0; p < value_panels(t.head_dim); ++p) {
    const auto panel = Format::values(t.value_page, p, buffer + parts.expanded);
    const Operand a{weights, kPageKeys, out.out + p * kPanel, out.out_stride};
    if (t.n_queries < kExpandFrom) {
      for_each_tile<2>(t.n_queries, [&](auto tile, size_t i) {
        multiply_visible<tile.size, 2>(panel, a.from(i), t.key_begin + i, t.key_end + i);
      });
    } else {
      expand(panel, visible, buffer, kPageKeys);
      for (size_t half = 0; half < 2; ++half) {
        const ExpandedPanel columns{buffer + half * kPageKeys * kLanes};
        for_each_tile<6>(t.n_queries, [&](auto tile, size_t i) {
          multiply_visible<tile.size, 1>(columns, a.columns(half * kLanes).from(i), t.key_begin + i,
                                         t.key_end + i);
        });
      }
    }
  }
}

inline void clear(float* p, size_t n) {
  for (size_t i = 0; i < n; ++i) p[i] = 0;
}

template <class Format>
inline void attend_page(const AttendPageTask& t) {
  const AttendScratch parts = attend_scratch(t.n_queries, t.head_dim);
  auto* scores = reinterpret_cast<float*>(t.scratch);
  float* padded = scores + parts.scores;
  float* buffer = padded + parts.outputs;
  const RowRange visible = visible_keys(t);

  clear(scores, t.n_queries * kPageKeys);
  score_keys<Format>(t, visible, scores, buffer);
  for (size_t i = 0; i < t.n_queries; ++i) {
    softmax_page(scores + i * kPageKeys, t.key_begin[i], t.key_end[i], t.maxima + i, t.sums + i);
  }

  const size_t width = value_panels(t.head_dim) * kPanel;
  const bool is_padded = width != t.head_dim;
  float* out = is_padded ? padded : t.outputs;
  clear(out, t.n_queries * width);
  weigh_values<Format>(t, visible, scores, {nullptr, 0, out, width}, buffer);
  for (size_t i = 0; is_padded && i < t.n_queries; ++i) {
    for (size_t c = 0; c < t.head_dim; ++c) {
      t.outputs[i * t.head_dim + c] = padded[i * width + c];
    }
  }
}

// Folding is skipped where the page has no visible key: its sum is 0, else it is at least 1.
inline void combine(float* running_max,
                    float* running_sum,
                    float* running_out,
                    float page_max,
                    float page_sum,
                    const float* page_out,
                    size_t head_dim) {
  if (page_sum == 0) return;
  const float highest = page_max > *running_max ? page_max : *running_max;
  const F32x16 a = exponential(broadcast(*running_max - highest));
  const F32x16 b = exponential(broadcast(page_max - highest));
  const F32x16 sum = fma(broadcast(*running_sum), a, mul(broadcast(page_sum), b));
  *running_max = highest;
  store_first(running_sum, sum, 1);
  for_each_vector(head_dim, [&](size_t i, size_t lanes) {
    const F32x16 page = mul(load_up_to(page_out + i, lanes), b);
    store_up_to(running_out + i, fma(load_up_to(running_out + i, lanes), a, page), lanes);
  });
}

inline void finish(const float* running_out, float running_sum, size_t head_dim, float* out) {
  const F32x16 inverse = broadcast(1.0f / running_sum);
  for_each_vector(head_dim, [&](size_t i, size_t lanes) {
    store_up_to(out + i, mul(load_up_to(running_out + i, lanes), inverse), lanes);
  });
}

template <class Number>
constexpr AttentionKernels plain_attention() {
  return {
      .key_page_bytes = plain_key_bytes<Number>,
      .value_page_bytes = plain_value_bytes<Number>,
      .store_key = store_plain_key<Number>,
      .store_value = store_plain_value<Number>,
      .load_key = load_plain_key<Number>,
      .load_value = load_plain_value<Number>,
      .attend_scratch_bytes = attend_scratch_bytes,
      .attend_page = attend_page<PlainPages<Number>>,
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
      .store_key = store_q8_0<key_place>,
      .store_value = store_q8_0<value_place>,
      .load_key = load_q8_0<key_place>,
      .load_value = load_q8_0<value_place>,
      .attend_scratch_bytes = attend_scratch_bytes,
      .attend_page = attend_page<Q8Pages>,
  };
}
constexpr CombineKernels combine_kernels() {
  return {.combine = combine, .finish = finish};
}

}  // namespace
}  // namespace maglio

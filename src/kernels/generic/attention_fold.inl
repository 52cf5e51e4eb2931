// Folding what the pages of a sequence gave a query, in ascending order:
//
//   M' = max(M, m),  a = exp(M - M'),  b = exp(m - M'),  L = fma(L, a, l b),  O = fma(O, a, o b)
//
// A page in which the query sees nothing has the sum 0 (else it is at least 1) and is passed over.
#pragma once

#include "kernels/generic/exp.inl"
#include "kernels/generic/rows.inl"
#include "kernels/kernels.h"

namespace maglio {
namespace {

// One page of n queries: M and L are updated, a and b kept for their outputs.
inline void fold_sums(size_t n,
                      const float* page_max,
                      const float* page_sum,
                      const AttendPageTask& running,
                      float* a_out,
                      float* b_out) {
  for_each_vector(n, [&](size_t i, size_t lanes) {
    const F32x16 before = load_up_to(running.maxima + i, lanes);
    const F32x16 sum = load_up_to(running.sums + i, lanes);
    const F32x16 m = load(page_max + i), l = load(page_sum + i);
    const I32x16 sees_none = less(l, broadcast(0.5f));
    const F32x16 highest = select(less(before, m), m, before);
    const F32x16 a = exponential(sub(before, highest));
    const F32x16 b = exponential(sub(m, highest));
    store(a_out + i, a);
    store(b_out + i, b);
    store_up_to(running.maxima + i, select(sees_none, before, highest), lanes);
    store_up_to(running.sums + i, select(sees_none, sum, fma(sum, a, mul(l, b))), lanes);
  });
}

// So many pages at a time: their factors come from one row of exponentials.
constexpr size_t kFoldedAtOnce = 64;

struct FoldFactors {
  size_t n = 0;
  size_t page[kFoldedAtOnce];
  float a[kFoldedAtOnce];
  float b[kFoldedAtOnce];
};

// The pages [begin, end) in which the query sees something, and their factors; M and L updated.
inline void fold_factors(const PagePartials& pages,
                         size_t begin,
                         size_t end,
                         float* running_max,
                         float* running_sum,
                         FoldFactors& f) {
  f.n = 0;
  float highest = *running_max;
  for (size_t k = begin; k < end; ++k) {
    if (pages.sums[k * pages.stride] == 0) continue;
    const float m = pages.maxima[k * pages.stride];
    const float before = highest;
    highest = m > before ? m : before;
    f.page[f.n] = k;
    f.a[f.n] = before - highest;
    f.b[f.n++] = m - highest;
  }
  *running_max = highest;
  for (size_t i = 0; i < f.n; i += kLanes) {  // lanes behind the last are not used
    store(f.a + i, exponential(load(f.a + i)));
    store(f.b + i, exponential(load(f.b + i)));
  }
  float sum = *running_sum;
  for (size_t i = 0; i < f.n; ++i) {
    sum = __builtin_fmaf(sum, f.a[i], pages.sums[f.page[i] * pages.stride] * f.b[i]);
  }
  *running_sum = sum;
}

inline void fold(const PagePartials& pages,
                 size_t head_dim,
                 float* running_max,
                 float* running_sum,
                 float* out) {
  FoldFactors f = {};
  for (size_t begin = 0; begin < pages.n_pages; begin += kFoldedAtOnce) {
    const size_t left = pages.n_pages - begin;
    fold_factors(pages, begin, begin + (left < kFoldedAtOnce ? left : kFoldedAtOnce), running_max,
                 running_sum, f);
    for_each_vector(head_dim, [&](size_t c, size_t lanes) {
      F32x16 o = load_up_to(out + c, lanes);
      for (size_t i = 0; i < f.n; ++i) {
        const float* page = pages.outputs + f.page[i] * pages.stride * head_dim + c;
        o = fma(o, broadcast(f.a[i]), mul(load_up_to(page, lanes), broadcast(f.b[i])));
      }
      store_up_to(out + c, o, lanes);
    });
  }
}

inline void finish(const float* running_out, float running_sum, size_t head_dim, float* out) {
  const F32x16 inverse = broadcast(1.0f / running_sum);
  for_each_vector(head_dim, [&](size_t i, size_t lanes) {
    store_up_to(out + i, mul(load_up_to(running_out + i, lanes), inverse), lanes);
  });
}

constexpr FoldKernels fold_kernels() {
  return {.fold = fold, .finish = finish};
}

}  // namespace
}  // namespace maglio

#include "ops/attention.h"

#include <algorithm>
#include <cassert>

#include "base/thread_pool.h"
#include "ops/attention_schedule.h"
#include "ops/rows.h"

namespace maglio {
namespace {

// Pages of unrounded keys and values in the arena.
KvPages make_pages(Context& cx,
                   Tensor<const float, Seq, KvHead, Dim> k,
                   Tensor<const float, Seq, KvHead, Dim> v) {
  const size_t n = k.extent<Seq>(), n_kv_heads = k.extent<KvHead>(), head_dim = k.extent<Dim>();
  KvPages pages{
      .kernels = &cx.kernels.attention_f32, .n_kv_heads = n_kv_heads, .head_dim = head_dim};
  const size_t n_pages = (n + kPageKeys - 1) / kPageKeys;
  const size_t page_bytes = n_kv_heads * pages.head_bytes();
  std::byte* memory = cx.arena.bytes(n_pages * page_bytes);
  const std::byte** starts = cx.arena.array<const std::byte*>(n_pages);
  for (size_t m = 0; m < n_pages; ++m) starts[m] = memory + m * page_bytes;
  pages.pages = {starts, n_pages};
  for_each_row(cx, n_pages, kPageKeys * n_kv_heads * head_dim, [&](size_t page) {
    const size_t first = page * kPageKeys, n_rows = std::min(kPageKeys, n - first);
    for (size_t h = 0; h < n_kv_heads; ++h) {
      std::byte* keys = memory + page * page_bytes + h * pages.head_bytes();
      std::byte* values = keys + pages.kernels->key_page_bytes(head_dim);
      pages.kernels->store_keys(k.select<Seq>(first).select<KvHead>(h).data(), k.stride<Seq>(),
                                n_rows, head_dim, 0, keys);
      pages.kernels->store_values(v.select<Seq>(first).select<KvHead>(h).data(), v.stride<Seq>(),
                                  n_rows, head_dim, 0, values);
    }
  });
  return pages;
}

}  // namespace

Tensor<float, Seq, Head, Dim> attend(Context& cx,
                                     Tensor<const float, Seq, Head, Dim> q,
                                     std::span<const AttentionStream> streams,
                                     const AttentionOptions& options) {
  const size_t n_rows = q.extent<Seq>(), n_heads = q.extent<Head>(), head_dim = q.extent<Dim>();
  const Tensor<float, Seq, Head, Dim> out =
      cx.arena.tensor<Seq, Head, Dim>({n_rows, n_heads, head_dim});
  if (n_rows == 0) return out;
  assert(!streams.empty());
  const size_t n_kv_heads = streams.front().keys_values.n_kv_heads;
  assert(n_kv_heads > 0 && n_heads % n_kv_heads == 0);
  const Arena::Scope temporaries(cx.arena);
  const detail::AttentionJob job{.queries = q,
                                 .n_kv_heads = n_kv_heads,
                                 .group = n_heads / n_kv_heads,
                                 .head_dim = head_dim,
                                 .options = options,
                                 .streams = streams,
                                 .out = out.data()};
  detail::run_attention(cx, job);
  return out;
}

Tensor<float, Seq, Head, Dim> attend(Context& cx,
                                     Tensor<const float, Seq, Head, Dim> q,
                                     const KvPages& keys_values,
                                     size_t n_keys,
                                     const AttentionOptions& options) {
  assert(q.extent<Seq>() <= n_keys);
  const AttentionStream stream{.keys_values = keys_values,
                               .n_keys = n_keys,
                               .position = n_keys - q.extent<Seq>(),
                               .n_rows = q.extent<Seq>()};
  return attend(cx, q, {&stream, 1}, options);
}

Tensor<float, Seq, Head, Dim> attend(Context& cx,
                                     Tensor<const float, Seq, Head, Dim> q,
                                     Tensor<const float, Seq, KvHead, Dim> k,
                                     Tensor<const float, Seq, KvHead, Dim> v,
                                     const AttentionOptions& options) {
  // The pages stay in the arena until the caller's scope closes: the result, allocated after them,
  // must outlive this call.
  return attend(cx, q, make_pages(cx, k, v), k.extent<Seq>(), options);
}

}  // namespace maglio

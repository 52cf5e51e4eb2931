#include "model/pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "maglio/error.h"
#include "model/kv_cache.h"

namespace maglio {
namespace {

[[noreturn]] void refuse(const char* code, const std::string& message) {
  throw Error(ErrorKind::bad_request, code, message);
}

// Appends rows [from, from + n) of the span.
void append_rows(Pass& pass, const Span& span, size_t from, size_t n) {
  const bool reaches_end = from + n == span.ids.size();
  PassSpan part{.cache = span.cache,
                .position = span.position + from,
                .first_row = pass.ids.size(),
                .n_rows = n};
  if (span.logits == LogitRows::all) part.n_wanted = n;
  if (span.logits == LogitRows::last && reaches_end) part.n_wanted = 1;
  for (size_t i = 0; i < n; ++i) {
    if (i + part.n_wanted >= n) pass.wanted.push_back(pass.ids.size());
    pass.ids.push_back(span.ids[from + i]);
    pass.positions.push_back(part.position + i);
  }
  pass.spans.push_back(part);
}

void check_ids(const Span& span, const Config& config) {
  if (span.ids.empty()) refuse("EmptySpan", "a span holds at least one token");
  for (const TokenId id : span.ids) {
    if (id < 0 || static_cast<size_t>(id) >= config.vocab_size) {
      refuse("InvalidTokenId",
             fmt::format("token id {} is outside the vocabulary of {}", id, config.vocab_size));
    }
  }
}

void check_cache(const Span& span, const KvCache& cache, const Config& config) {
  const KvShape expected{config.n_layers, config.n_kv_heads, config.head_dim};
  if (cache.shape() != expected) {
    refuse("MismatchedKvCaches", "the cache was made for a model of another shape");
  }
  if (span.position != cache.length()) {
    refuse("InvalidSequenceLength",
           fmt::format("the span begins at position {}, but its cache holds {} tokens",
                       span.position, cache.length()));
  }
  if (span.ids.size() > cache.capacity() - cache.length()) {
    throw Error(ErrorKind::context_full, "KvCacheOverflow",
                fmt::format("no room for {} tokens: the cache holds {} of {}", span.ids.size(),
                            cache.length(), cache.capacity()));
  }
}

}  // namespace

std::vector<Pass> cut_into_passes(Batch batch, size_t max_rows) {
  assert(max_rows > 0);
  std::vector<Pass> passes(1);
  for (const Span& span : batch) {
    for (size_t from = 0; from < span.ids.size();) {
      if (passes.back().ids.size() == max_rows) passes.emplace_back();
      const size_t n = std::min(span.ids.size() - from, max_rows - passes.back().ids.size());
      append_rows(passes.back(), span, from, n);
      from += n;
    }
  }
  return passes;
}

void check_batch(Batch batch, const Config& config) {
  if (batch.empty()) refuse("EmptyBatch", "a batch holds at least one span");
  std::vector<const KvCache*> caches;
  for (const Span& span : batch) {
    assert(span.cache != nullptr && "every span has a cache");
    check_ids(span, config);
    check_cache(span, *span.cache, config);
    if (span.cache->type() != batch.front().cache->type()) {
      refuse("MismatchedKvCaches", "the caches of a batch are of one type");
    }
    caches.push_back(span.cache);
  }
  std::ranges::sort(caches);
  if (std::ranges::adjacent_find(caches) != caches.end()) {
    refuse("MismatchedKvCaches",
           "a cache appears twice in the batch: its second span has no position yet");
  }
}

}  // namespace maglio

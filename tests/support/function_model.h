// A language model given as a function: from all tokens so far to the logits of the next.
//
// What it says depends on nothing else, as a real model's logits do, so it may be rewound, asked
// for many rows and for many sequences at once. It checks the contract that a Transformer would:
// positions, capacity, one cache once in a batch, and caches as they were when it throws.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "decode/language_model.h"
#include "maglio/error.h"
#include "support/scripted_model.h"
#include "support/test_kernels.h"

namespace maglio::test {

class FunctionModel {
 public:
  // Fills the logits [vocab], which are 0; may throw.
  using Function = std::function<void(std::span<const TokenId> past, std::span<float> logits)>;

  FunctionModel(size_t vocab_size, Function function)
      : vocab_size_(vocab_size), function_(std::move(function)) {}

  const Kernels& kernels() const { return test_kernels(); }
  ScriptedCache new_cache(size_t capacity, CacheType = CacheType::f16) const {
    return ScriptedCache(capacity);
  }

  Logits forward(std::span<const SpanOf<ScriptedCache>> batch) {
    size_t n_rows = 0;
    for (const auto& span : batch) check(span), n_rows += wanted_rows(span);
    logits_.assign(n_rows * vocab_size_, 0.0f);
    passes.emplace_back();
    size_t row = 0;
    for (const auto& [cache, position, ids, wanted] : batch) {
      std::vector<TokenId> past(cache->ids().begin(), cache->ids().end());
      for (size_t i = 0; i < ids.size(); ++i) {
        past.push_back(ids[i]);
        const bool is_wanted =
            wanted == LogitRows::all || (wanted == LogitRows::last && i + 1 == ids.size());
        if (is_wanted) {
          function_(past, std::span(logits_).subspan(row++ * vocab_size_, vocab_size_));
        }
      }
      passes.back().emplace_back(ids.begin(), ids.end());
    }
    for (const auto& span : batch) span.cache->append(span.ids);  // nothing threw
    return Logits(logits_.data(), {n_rows, vocab_size_});
  }
  std::span<float> forward_step(ScriptedCache& cache,
                                std::span<const TokenId> ids,
                                size_t position) {
    const SpanOf<ScriptedCache> span{&cache, position, ids, LogitRows::last};
    return forward({&span, 1}).select<Row>(0).span();
  }
  Logits forward_step_all_logits(ScriptedCache& cache,
                                 std::span<const TokenId> ids,
                                 size_t position) {
    const SpanOf<ScriptedCache> span{&cache, position, ids, LogitRows::all};
    return forward({&span, 1});
  }

  std::vector<std::vector<std::vector<TokenId>>> passes;  // of each: the ids of its spans

 private:
  static void check(const SpanOf<ScriptedCache>& span) {
    if (span.position != span.cache->length()) {
      throw Error(ErrorKind::bad_request, "InvalidSequenceLength", "position is not the length");
    }
    if (span.cache->capacity() - span.position < span.ids.size()) {
      throw Error(ErrorKind::context_full, "KvCacheOverflow", "no room");
    }
  }

  size_t vocab_size_;
  Function function_;
  std::vector<float> logits_;
};

}  // namespace maglio::test

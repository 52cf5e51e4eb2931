// A language model whose answers are written down: it always wants the next token of its script.
//
// It stands in for a Transformer wherever LanguageModel is asked, remembers every call, and checks
// the contract that a real one would: positions, capacity.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "decode/generate.h"
#include "decode/language_model.h"
#include "maglio/error.h"
#include "support/test_kernels.h"

namespace maglio::test {

// Remembers the ids that were fed.
class ScriptedCache {
 public:
  explicit ScriptedCache(size_t capacity) : capacity_(capacity) {}
  size_t length() const { return ids_.size(); }
  size_t capacity() const { return capacity_; }
  void truncate(size_t keep) {
    if (keep < ids_.size()) ids_.resize(keep);
  }
  std::span<const TokenId> ids() const { return ids_; }
  ScriptedCache fork() const { return *this; }
  void append(std::span<const TokenId> ids) { ids_.insert(ids_.end(), ids.begin(), ids.end()); }

 private:
  size_t capacity_;
  std::vector<TokenId> ids_;
};

class ScriptedModel {
 public:
  ScriptedModel(size_t vocab_size, std::vector<TokenId> script)
      : vocab_size_(vocab_size), script_(std::move(script)) {}

  const Kernels& kernels() const { return test_kernels(); }
  ScriptedCache new_cache(size_t capacity, CacheType = CacheType::f16) const {
    return ScriptedCache(capacity);
  }

  // The best logit is the next token of the script; when it has ended, the last one again.
  std::span<float> forward_step(ScriptedCache& cache,
                                std::span<const TokenId> ids,
                                size_t position) {
    append(cache, ids, position);
    return next_rows(1).select<Row>(0).span();
  }
  // A row for each id, each with a token of the script.
  Logits forward_step_all_logits(ScriptedCache& cache,
                                 std::span<const TokenId> ids,
                                 size_t position) {
    append(cache, ids, position);
    return next_rows(ids.size());
  }

  // Continues with another script, from its beginning.
  void read(std::vector<TokenId> script) {
    script_ = std::move(script);
    next_ = 0;
  }

  std::vector<std::vector<TokenId>> calls;  // the ids of every step

 private:
  void append(ScriptedCache& cache, std::span<const TokenId> ids, size_t position) {
    if (position != cache.length()) {
      throw Error(ErrorKind::bad_request, "InvalidSequenceLength", "position is not the length");
    }
    if (cache.capacity() - cache.length() < ids.size()) {
      throw Error(ErrorKind::context_full, "KvCacheOverflow", "no room");
    }
    cache.append(ids);
    calls.emplace_back(ids.begin(), ids.end());
  }
  Logits next_rows(size_t n) {
    logits_.assign(n * vocab_size_, 0.0f);
    for (size_t i = 0; i < n; ++i) {
      logits_[i * vocab_size_ + static_cast<size_t>(current())] = 20;
    }
    return Logits(logits_.data(), {n, vocab_size_});
  }
  TokenId current() { return script_[next_ + 1 < script_.size() ? next_++ : script_.size() - 1]; }

  size_t vocab_size_;
  std::vector<float> logits_;
  std::vector<TokenId> script_;
  size_t next_ = 0;
};

}  // namespace maglio::test

// What one forward pass computes: spans of tokens, each at the end of its own sequence.
//
// A prompt is one span of many tokens, a decode step a span of one, a batch of conversations one
// span each, and checking drafted tokens a span that wants the logits of all its rows. They are the
// same call with other spans. Every row of logits depends on its own sequence alone, so how tokens
// are cut into spans and which spans share a call changes no bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "maglio/tokenizer.h"
#include "tensor/tensor.h"

namespace maglio {

class KvCache;

using Logits = Tensor<float, Row, Vocab>;

// Which of a span's tokens get a row of logits. Whatever is not wanted is not computed: the last
// layer works on the wanted rows only, and so does the head.
enum class LogitRows : uint8_t { none, last, all };

// Borrows the cache and the ids for the call. Requires: position is the cache's length - where the
// caller believes the sequence to be, checked against where it is.
template <class Cache>
struct SpanOf {
  Cache* cache = nullptr;
  size_t position = 0;  // of ids[0]
  std::span<const TokenId> ids;
  LogitRows logits = LogitRows::last;
};

using Span = SpanOf<KvCache>;
using Batch = std::span<const Span>;

// Rows of logits that the span will have.
template <class Cache>
constexpr size_t wanted_rows(const SpanOf<Cache>& span) {
  switch (span.logits) {
    case LogitRows::none:
      return 0;
    case LogitRows::last:
      return 1;
    case LogitRows::all:
      return span.ids.size();
  }
  return 0;
}

}  // namespace maglio

#include "support/loaded_model.h"

#include <algorithm>

#include "support/random_blocks.h"

namespace maglio::test {

std::vector<int32_t> random_prompt(size_t n, size_t vocab_size, uint64_t seed) {
  Dice dice(seed);
  std::vector<int32_t> ids(n);
  for (int32_t& id : ids) id = static_cast<int32_t>(dice.bits() % vocab_size);
  return ids;
}

Rows copy_rows(Logits logits) {
  Rows rows;
  for (size_t i = 0; i < logits.extent<Row>(); ++i) {
    const std::span<const float> row = logits.select<Row>(i).span();
    rows.emplace_back(row.begin(), row.end());
  }
  return rows;
}

Rows all_logits(Transformer& model,
                std::span<const int32_t> prompt,
                size_t span_length,
                CacheType type) {
  KvCache cache = model.new_cache(prompt.size(), type);
  Rows rows;
  for (size_t at = 0; at < prompt.size(); at += span_length) {
    const auto ids = prompt.subspan(at, std::min(span_length, prompt.size() - at));
    const Rows part = copy_rows(model.forward_step_all_logits(cache, ids, at));
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

}  // namespace maglio::test

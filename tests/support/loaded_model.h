// A synthetic model, loaded: the file's bytes, the transformer on them, and prompts for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gguf/reader.h"
#include "model/kv_cache.h"
#include "model/transformer.h"
#include "support/reference_model.h"
#include "support/synthetic_model.h"

namespace maglio::test {

class LoadedModel {
 public:
  explicit LoadedModel(const SyntheticModel& model,
                       const TransformerOptions& options = {.n_threads = 2})
      : bytes_(model.bytes()), transformer(Transformer::load(gguf::File::parse(bytes_), options)) {}

  // The same file, loaded again.
  Transformer again(const TransformerOptions& options) const {
    return Transformer::load(gguf::File::parse(bytes_), options);
  }
  gguf::File file() const { return gguf::File::parse(bytes_); }

 private:
  Bytes bytes_;

 public:
  Transformer transformer;
};

// n tokens of a vocabulary, at random from a seed.
std::vector<int32_t> random_prompt(size_t n, size_t vocab_size, uint64_t seed = 1);

// Rows of logits as they came, copied: logits end with the next call.
using Rows = std::vector<std::vector<float>>;
Rows copy_rows(Logits logits);

// Logits of every token of a prompt, prefilled in spans of at most span_length tokens.
Rows all_logits(Transformer& model,
                std::span<const int32_t> prompt,
                size_t span_length,
                CacheType type = CacheType::f16);

}  // namespace maglio::test

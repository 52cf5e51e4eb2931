// The model as a function: token ids in, logits out.
//
//   Transformer model = Transformer::load("Qwen3-0.6B-Q8_0.gguf");
//   KvCache cache = model.new_cache(4096);
//   std::span<float> logits = model.forward_step(cache, prompt, 0);       // prefill
//   logits = model.forward_step(cache, {&next, 1}, cache.length());       // decode
//
// There is one forward pass (docs/tour.md leads through it); the other entries are the chapter's
// names for batches of one shape. Same tokens, same logits, bit for bit: on any number of threads,
// any instruction set, in any division into spans and batches.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "maglio/load_options.h"
#include "model/batch.h"
#include "model/config.h"
#include "model/expert_reader.h"
#include "ops/context.h"

namespace maglio {

namespace gguf {
class File;
}
class KvCache;

using TransformerOptions = LoadOptions;  // isa: a kernel table by name

// Movable owner of weights, threads and scratch memory. One forward at a time; caches are the
// caller's and must be of this model's shape.
class Transformer {
 public:
  // Throws: Error bad_file or unsupported, naming the key or tensor; bad_request "BadExpertTopP",
  // "BadExpertIoThreads", "ExpertCacheTooSmall", "ExpertsNotInAFile".
  static Transformer load(const std::filesystem::path& path, const TransformerOptions& = {});
  // make_expert_reader: reads what an expert cache reads; empty: from the file.
  static Transformer load(gguf::File file,
                          const TransformerOptions& = {},
                          const MakeExpertReader& make_expert_reader = {});

  Transformer(Transformer&&) noexcept;
  Transformer& operator=(Transformer&&) noexcept;
  ~Transformer();

  const Config& config() const;
  const Kernels& kernels() const;
  size_t n_threads() const;
  WeightStorage weight_storage() const;  // packed or mapped
  size_t weight_bytes() const;           // of matrices, as packed or as the file has them
  size_t expert_bytes() const;           // of those, what the experts of mixtures take
  const std::vector<std::string>& load_notes() const;  // what a user should know of the loading
  std::optional<ExpertCacheStats> expert_cache_stats() const;  // nothing: no expert cache
  // As Model::keep_expert_history.
  std::optional<std::string> keep_expert_history();
  size_t scratch_bytes() const;  // of activations; grows to the largest step so far

  KvCache new_cache(size_t capacity, CacheType type = CacheType::f16) const;

  // The rows of logits that the spans want, in span order; each cache has grown by its span.
  // The logits belong to the transformer, may be written to, and end with the next call.
  // Throws: Error, with every cache as it was:
  //   bad_request "InvalidSequenceLength"  position is not the cache's length
  //   context_full "KvCacheOverflow"       no room for the span
  //   bad_request "MismatchedKvCaches"     one cache twice, or of another type or shape
  //   bad_request "InvalidTokenId", "EmptySpan", "EmptyBatch"
  //   bad_file "NonFiniteLogits"           the model computes NaN or infinity
  //   io "FileShrank"                      weights lie in the file, and it has been cut
  //   io "ShortRead", "CannotReadFile"     an expert could not be read; it may be tried again
  Logits forward(Batch batch);

  // One sequence: logits of the last token.
  std::span<float> forward_step(KvCache& cache, std::span<const TokenId> ids, size_t position);
  // One sequence: logits of every token.
  Logits forward_step_all_logits(KvCache& cache, std::span<const TokenId> ids, size_t position);
  // One token for each of several sequences; row i belongs to caches[i].
  Logits forward_step_batch(std::span<KvCache* const> caches, std::span<const TokenId> ids);
  // Without a cache: recomputes the whole sequence, rounding keys and values as a cache of that
  // type would. The oracle for the cached entries.
  std::span<float> forward_last_logits(std::span<const TokenId> ids,
                                       CacheType rounding = CacheType::f16);

  // Shows the probe every named intermediate of each pass from now on; nullptr ends it.
  void set_probe(Probe probe);

 private:
  struct Parts;
  explicit Transformer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace maglio

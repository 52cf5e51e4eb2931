// What a transformer has learned: every tensor of the file, under its name in the forward pass.
//
// The type of a matrix says what it turns into what - `down` is a Weight<Embed, Ff> - and so names
// its expected shape too. Variants are absent tensors: no bias, no head norms, a tied head.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "gguf/reader.h"
#include "kernels/kernels.h"
#include "maglio/load_options.h"
#include "model/config.h"
#include "model/expert_store.h"
#include "model/packed_weights.h"
#include "ops/embed.h"
#include "ops/linear.h"
#include "ops/mixture.h"
#include "ops/norm.h"
#include "ops/residual.h"

namespace maglio {

class ThreadPool;

// Queries, keys and values read the same normalised stream.
struct AttentionWeights {
  Norm<Embed> norm;
  Projections<Embed, Query, KeyValue, KeyValue> qkv;
  struct Biases {  // Qwen2
    Bias<Query> q;
    Bias<KeyValue> k;
    Bias<KeyValue> v;
  };
  std::optional<Biases> biases;
  struct HeadNorms {  // Qwen3: one weight for all heads
    Norm<Dim> q;
    Norm<Dim> k;
  };
  std::optional<HeadNorms> head_norms;
  Weight<Embed, Query> output;
};

// An expert that every token uses, beside those it was routed to, and how much of it (Qwen2).
struct SharedExpert {
  Weight<Share, Embed> share;
  GatedNetwork<SharedFf> network;
};

// A router and the experts it chooses from.
struct Mixture {
  Weight<Expert, Embed> router;
  std::unique_ptr<ExpertSource> experts;
  std::optional<SharedExpert> shared;
};

struct FeedForwardWeights {
  Norm<Embed> norm;
  std::variant<FeedForward, Mixture> network;
};

struct Layer {
  AttentionWeights attention;
  FeedForwardWeights feed_forward;
};

// What the matrices of a file take, packed.
struct Room {
  size_t rest = 0;
  size_t experts = 0;
};
Room room_for_matrices(const gguf::File& file, const Kernels& kernels);

// Packed as long as a tenth of the available memory stays for keys, values and everybody else, or
// where nobody knows how much is available.
WeightStorage automatic_storage(uint64_t packed_bytes, std::optional<uint64_t> available);

// Where the matrices go, and where those of experts.
struct StoragePlan {
  WeightStorage rest;
  WeightStorage experts;
};
// Of packed sizes. What is asked for stays; experts are never packed beside a mapped rest.
StoragePlan plan_storage(const LoadOptions& options,
                         uint64_t rest_bytes,
                         uint64_t expert_bytes,
                         std::optional<uint64_t> available);

// What to say of an expert cache that memory has no room for beside the other weights, packed.
std::optional<std::string> why_cache_is_too_large(uint64_t cache_bytes,
                                                  uint64_t rest_bytes,
                                                  std::optional<uint64_t> available);

// Owner of all that it points to; movable, and immutable once loaded.
class Weights {
 public:
  // Closes the file when nothing points into it any more: an embedding that is not also the head,
  // or whose panels do not hold its rows (BF16), stays in the mapping, as stored, and so do all
  // matrices where the storage is mapped.
  // Throws: Error bad_file "MissingTensor", "InvalidWeightShape", "InvalidWeight",
  // "NonFiniteWeight"; unsupported "UnsupportedWeightType", "UnsupportedTensor" - a tensor that
  // nothing here would use, so that no file computes something else than it says; bad_request
  // "ExpertCacheTooSmall", "ExpertsNotInAFile".
  static Weights load(gguf::File file,
                      const Config& config,
                      const Kernels& kernels,
                      ThreadPool& pool,
                      const LoadOptions& options = {},
                      const MakeExpertReader& make_expert_reader = {});

  Weight<Vocab, Embed> embedding;
  std::vector<Layer> layers;
  Norm<Embed> output_norm;
  Weight<Vocab, Embed> head;             // the embedding itself where the file has no other
  std::span<const float> rope_divisors;  // [head_dim / 2], of the angles; empty: all 1

  WeightStorage storage() const { return storage_; }  // packed or mapped
  WeightStorage expert_storage() const { return expert_storage_; }
  ExpertStore* expert_store() const { return expert_store_.get(); }  // null: none
  size_t matrix_bytes() const;                                       // of them, as they are kept
  size_t expert_bytes() const { return expert_bytes_; }              // of those, what experts take
  std::vector<std::string> notes;  // what a user should know of the loading

  // Throws: Error io "FileShrank" where something lies in the file and that has been cut. It would
  // end the process (SIGBUS) to find out by reading.
  void require_whole_file() const;

 private:
  friend class WeightLoader;
  Weights(gguf::File file, const Kernels& kernels, const LoadOptions& options);
  void place_all(const Config& config, const Kernels& kernels);
  void make_expert_store(const Kernels& kernels,
                         const ExpertCacheOptions& options,
                         const MakeExpertReader& make_reader);
  bool has_raw_embedding() const;  // in the file, apart from the head

  std::optional<gguf::File> file_;
  WeightStorage storage_;
  WeightStorage expert_storage_;
  PackedWeights packed_;
  size_t raw_bytes_ = 0;                     // that are read from the file
  size_t raw_expert_bytes_ = 0;              // of them
  size_t expert_bytes_ = 0;                  // packed or raw
  std::vector<std::vector<float>> vectors_;  // norms and biases, widened to f32
  bool streams_experts_ = false;
  std::vector<LayerLayout> expert_layouts_;  // of those that will be read
  std::unique_ptr<ExpertStore> expert_store_;
};

}  // namespace maglio

// What a model takes of this machine's memory, and which ways to run it fit.
//
//   memory = the weights that do not stay in the file
//          + bytes of a position * context, for each of the conversations
//
// may be nine tenths of what is available. The last tenth is for activations and for everybody
// else. Weights that stay in the file need room only in the system's own cache of files, but
// without any they would be read from the disk for every token: beside them, keys and values may
// take half. Experts that are read on demand (docs/experts.md) get what is left, where that holds
// at least those that one token uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/kernels.h"
#include "maglio/load_options.h"
#include "model/config.h"

namespace maglio {

namespace gguf {
class File;
}

// Bytes, of matrices: vectors are nothing beside them.
struct ModelSizes {
  struct Weights {
    uint64_t packed = 0;
    uint64_t in_file = 0;
  };
  Weights experts;                // of mixtures
  Weights rest;                   // in the file with an embedding that stays there
  uint64_t f16_position = 0;      // keys and values of one position in all layers
  uint64_t q8_0_position = 0;     // 0: heads do not fit the blocks of a q8_0 cache
  size_t n_ctx = 0;               // positions of a whole context
  uint64_t experts_of_token = 0;  // packed: those that one token uses, in all layers

  uint64_t position(CacheType type) const {
    return type == CacheType::f16 ? f16_position : q8_0_position;
  }
  bool is_mixture() const { return experts.packed > 0; }
};

// Requires: the file is one that config came from.
ModelSizes sizes_of(const gguf::File& file, const Config& config, const Kernels& kernels);

// What somebody has decided already.
struct MemoryWishes {
  WeightStorage weights = WeightStorage::automatic;
  WeightStorage experts = WeightStorage::automatic;
  std::optional<CacheType> cache = {};
  std::optional<size_t> context = {};
  size_t n_sequences = 1;  // conversations, each with a context of its own
};

struct MemoryPlan {
  WeightStorage weights = WeightStorage::packed;  // packed or mapped
  WeightStorage experts = WeightStorage::packed;
  uint64_t expert_cache_bytes = 0;  // mapped experts are read on demand into so much; 0: not
  CacheType cache = CacheType::f16;
  size_t context = 0;         // positions of each sequence
  uint64_t weight_bytes = 0;  // in memory, an expert cache included: mapped ones are not counted
  uint64_t kv_bytes = 0;      // when every context is full

  uint64_t bytes() const { return weight_bytes + kv_bytes; }
  bool operator==(const MemoryPlan&) const = default;
};

// Every way to keep weights, the fastest first, with either type of cache: how long a context it
// leaves room for, at most the model's own. Ways whose weights alone do not fit have none (0).
std::vector<MemoryPlan> memory_plans(const ModelSizes& sizes, uint64_t available);

// The best way that fits and is as wished; nothing where there is none. The context that is wanted
// is the one wished for, which must fit whole, else the model's. Decided in this order:
//   weights   the fastest way that leaves room for 8192 positions, or for all that are wanted, with
//             the smaller cache; where none does, the one that leaves room for most
//   cache     f16 if the whole context that is wanted fits with it, else q8_0
//   context   the one that is wanted, or as long as there is room for; at least 64 positions
std::optional<MemoryPlan> fit_memory(const ModelSizes& sizes,
                                     uint64_t available,
                                     const MemoryWishes& wishes = {});

}  // namespace maglio

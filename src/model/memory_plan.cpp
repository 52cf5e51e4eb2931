#include "model/memory_plan.h"

#include <algorithm>
#include <cassert>
#include <span>

#include "gguf/reader.h"
#include "model/kv_cache.h"
#include "model/weights.h"

namespace maglio {
namespace {

// What a conversation with a document or a program needs: below it, room for positions is worth
// more than the speed of packed weights.
constexpr size_t kEnoughContext = 8192;
constexpr size_t kLeastContext = kPageKeys;
constexpr size_t kContextIfSilent = 4096;

// The fastest first.
std::vector<StoragePlan> storages(const ModelSizes& sizes) {
  using enum WeightStorage;
  if (!sizes.is_mixture()) return {{packed, packed}, {mapped, mapped}};
  return {{packed, packed}, {packed, mapped}, {mapped, mapped}};
}

bool as_wished(const StoragePlan& storage, const MemoryWishes& wishes) {
  const auto same = [](WeightStorage wish, WeightStorage is) {
    return wish == WeightStorage::automatic || wish == is;
  };
  // Beside a mapped rest experts are never packed, whatever the wish.
  const bool all_mapped = storage.rest == WeightStorage::mapped;
  return same(wishes.weights, storage.rest) &&
         (all_mapped || same(wishes.experts, storage.experts));
}

uint64_t resident_bytes(const ModelSizes& sizes, const StoragePlan& storage) {
  return (storage.rest == WeightStorage::packed ? sizes.rest.packed : 0) +
         (storage.experts == WeightStorage::packed ? sizes.experts.packed : 0);
}

// Bytes for keys and values beside weights kept so; nothing where they do not fit themselves.
std::optional<uint64_t> room_for_cache(const ModelSizes& sizes,
                                       const StoragePlan& storage,
                                       uint64_t available) {
  const uint64_t weights = resident_bytes(sizes, storage), all = available / 10 * 9;
  if (weights > all) return std::nullopt;
  const bool in_file = storage.experts == WeightStorage::mapped;
  return in_file ? std::min(all - weights, available / 2) : all - weights;
}

// Positions of each sequence, whole pages of them unless `most` fits; 0 for a cache that cannot be.
size_t positions_in(uint64_t room, uint64_t position_bytes, size_t n_sequences, size_t most) {
  if (position_bytes == 0) return 0;
  const uint64_t n = room / position_bytes / n_sequences;
  return n >= most ? most : static_cast<size_t>(n / kPageKeys * kPageKeys);
}

MemoryPlan planned(const ModelSizes& sizes,
                   const StoragePlan& storage,
                   CacheType cache,
                   size_t context,
                   size_t n_sequences) {
  return {.weights = storage.rest,
          .experts = storage.experts,
          .cache = cache,
          .context = context,
          .weight_bytes = resident_bytes(sizes, storage),
          .kv_bytes = context * n_sequences * sizes.position(cache)};
}

}  // namespace

ModelSizes sizes_of(const gguf::File& file, const Config& config, const Kernels& kernels) {
  const Room packed = room_for_matrices(file, kernels);
  ModelSizes sizes{.experts = {.packed = packed.experts},
                   .rest = {.packed = packed.rest},
                   .n_ctx = config.n_ctx == 0 ? kContextIfSilent : config.n_ctx};
  for (const gguf::TensorInfo& tensor : file.tensors()) {
    if (tensor.dims.size() == 3) sizes.experts.in_file += tensor.data.size();
    if (tensor.dims.size() == 2) sizes.rest.in_file += tensor.data.size();
  }
  const KvShape shape{config.n_layers, config.n_kv_heads, config.head_dim};
  sizes.f16_position = KvCache(shape, CacheType::f16, 0, kernels).bytes_per_position();
  if (config.head_dim % 32 == 0) {
    sizes.q8_0_position = KvCache(shape, CacheType::q8_0, 0, kernels).bytes_per_position();
  }
  return sizes;
}

std::vector<MemoryPlan> memory_plans(const ModelSizes& sizes, uint64_t available) {
  std::vector<MemoryPlan> plans;
  for (const StoragePlan& storage : storages(sizes)) {
    const std::optional<uint64_t> room = room_for_cache(sizes, storage, available);
    for (const CacheType cache : {CacheType::f16, CacheType::q8_0}) {
      if (sizes.position(cache) == 0) continue;
      const size_t context = room ? positions_in(*room, sizes.position(cache), 1, sizes.n_ctx) : 0;
      plans.push_back(planned(sizes, storage, cache, context, 1));
    }
  }
  return plans;
}

std::optional<MemoryPlan> fit_memory(const ModelSizes& sizes,
                                     uint64_t available,
                                     const MemoryWishes& wishes) {
  assert(wishes.n_sequences > 0);
  const size_t wanted = wishes.context.value_or(sizes.n_ctx);
  const size_t least = wishes.context ? wanted : std::min(wanted, kLeastContext);
  const size_t enough = wishes.context ? wanted : std::min(wanted, kEnoughContext);
  std::optional<MemoryPlan> best;
  for (const StoragePlan& storage : storages(sizes)) {
    const std::optional<uint64_t> room = room_for_cache(sizes, storage, available);
    if (!room || !as_wished(storage, wishes)) continue;
    for (const CacheType cache : {CacheType::f16, CacheType::q8_0}) {
      if (wishes.cache && *wishes.cache != cache) continue;
      const size_t context = positions_in(*room, sizes.position(cache), wishes.n_sequences, wanted);
      if (context < least || (best && context <= best->context)) continue;
      best = planned(sizes, storage, cache, context, wishes.n_sequences);
    }
    if (best && best->context >= enough) break;
  }
  return best;
}

}  // namespace maglio

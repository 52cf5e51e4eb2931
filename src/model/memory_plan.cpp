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

struct Way {
  StoragePlan storage;
  bool on_demand = false;  // experts, into a cache
};

// The fastest first.
std::vector<Way> ways(const ModelSizes& sizes) {
  constexpr auto kPacked = WeightStorage::packed, kMapped = WeightStorage::mapped;
  const Way all_packed{{kPacked, kPacked}}, all_mapped{{kMapped, kMapped}};
  if (!sizes.is_mixture()) return {all_packed, all_mapped};
  const Way on_demand{{kPacked, kMapped}, true}, mapped_experts{{kPacked, kMapped}};
  return {all_packed, on_demand, mapped_experts, all_mapped};
}

bool as_wished(const Way& way, const MemoryWishes& wishes) {
  const auto same = [](WeightStorage wish, WeightStorage is) {
    return wish == WeightStorage::automatic || wish == is;
  };
  if (way.on_demand && wishes.experts != WeightStorage::automatic) return false;
  // Beside a mapped rest experts are never packed, whatever the wish.
  const bool all_mapped = way.storage.rest == WeightStorage::mapped;
  return same(wishes.weights, way.storage.rest) &&
         (all_mapped || same(wishes.experts, way.storage.experts));
}

uint64_t usable(uint64_t available) {
  return available / 10 * 9;
}

uint64_t resident_bytes(const ModelSizes& sizes, const StoragePlan& storage) {
  return (storage.rest == WeightStorage::packed ? sizes.rest.packed : 0) +
         (storage.experts == WeightStorage::packed ? sizes.experts.packed : 0);
}

// Bytes for keys and values beside weights kept so; nothing where they do not fit themselves.
std::optional<uint64_t> room_for_cache(const ModelSizes& sizes,
                                       const Way& way,
                                       uint64_t available) {
  const uint64_t weights = resident_bytes(sizes, way.storage), all = usable(available);
  if (weights > all) return std::nullopt;
  const uint64_t left = all - weights;
  if (way.on_demand) {
    if (sizes.experts_of_token > left) return std::nullopt;
    return std::min(left - sizes.experts_of_token, left / 2);
  }
  const bool in_file = way.storage.experts == WeightStorage::mapped;
  return in_file ? std::min(left, available / 2) : left;
}

// Positions of each sequence, whole pages of them unless `most` fits; 0 for a cache that cannot be.
size_t positions_in(uint64_t room, uint64_t position_bytes, size_t n_sequences, size_t most) {
  if (position_bytes == 0) return 0;
  const uint64_t n = room / position_bytes / n_sequences;
  return n >= most ? most : static_cast<size_t>(n / kPageKeys * kPageKeys);
}

MemoryPlan planned(const ModelSizes& sizes,
                   const Way& way,
                   uint64_t available,
                   CacheType cache,
                   uint64_t n_positions) {
  constexpr uint64_t kMebi = uint64_t{1} << 20;  // expert caches are whole ones
  const uint64_t resident = resident_bytes(sizes, way.storage);
  MemoryPlan plan{.weights = way.storage.rest,
                  .experts = way.storage.experts,
                  .cache = cache,
                  .weight_bytes = resident,
                  .kv_bytes = n_positions * sizes.position(cache)};
  if (way.on_demand) {
    const uint64_t left = usable(available) - resident - plan.kv_bytes;
    plan.expert_cache_bytes = std::min(left, sizes.experts.packed) / kMebi * kMebi;
    plan.weight_bytes += plan.expert_cache_bytes;
  }
  return plan;
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
  if (config.n_experts > 0) {
    sizes.experts_of_token = sizes.experts.packed / config.n_experts * config.n_experts_used;
  }
  return sizes;
}

std::vector<MemoryPlan> memory_plans(const ModelSizes& sizes, uint64_t available) {
  std::vector<MemoryPlan> plans;
  for (const Way& way : ways(sizes)) {
    const std::optional<uint64_t> room = room_for_cache(sizes, way, available);
    if (way.on_demand && !room) continue;
    for (const CacheType cache : {CacheType::f16, CacheType::q8_0}) {
      if (sizes.position(cache) == 0) continue;
      const size_t context = room ? positions_in(*room, sizes.position(cache), 1, sizes.n_ctx) : 0;
      plans.push_back(planned(sizes, way, available, cache, context));
      plans.back().context = context;
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
  for (const Way& way : ways(sizes)) {
    const std::optional<uint64_t> room = room_for_cache(sizes, way, available);
    if (!room || !as_wished(way, wishes)) continue;
    for (const CacheType cache : {CacheType::f16, CacheType::q8_0}) {
      if (wishes.cache && *wishes.cache != cache) continue;
      const size_t context = positions_in(*room, sizes.position(cache), wishes.n_sequences, wanted);
      if (context < least || (best && context <= best->context)) continue;
      best = planned(sizes, way, available, cache, context * wishes.n_sequences);
      best->context = context;
    }
    if (best && best->context >= enough) break;
  }
  return best;
}

}  // namespace maglio

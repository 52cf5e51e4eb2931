// How a model is loaded. The defaults are what most programs want.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "maglio/expert_cache.h"

namespace maglio {

// Where the weights are while the model is in use. The same bits come out of all; only speed and
// memory differ.
enum class WeightStorage : uint8_t {
  automatic,  // packed where memory has room for it, mapped otherwise
  packed,     // one copy in memory, in the order in which it is read: fastest
  mapped,     // in the file, packed anew at each use: for models larger than memory
};

struct LoadOptions {
  size_t n_threads = 0;    // 0: one for each physical core that this process may use
  std::string isa = {};    // instruction set by name; empty: MAGLIO_ISA, else the best one there is
  size_t attn_window = 0;  // a token sees the last so many positions, itself included; 0: all
  WeightStorage weights = WeightStorage::automatic;
  // Of a mixture's experts, which are the bulk of it. automatic: packed where everything has room,
  // else mapped beside a packed rest. Mapped weights have mapped experts.
  WeightStorage experts = WeightStorage::automatic;
  // Instead of that: experts stay in the file and are read when tokens need them, into so much
  // memory.
  std::optional<ExpertCacheOptions> expert_cache = {};
  // Mixtures: a token keeps the fewest of its experts whose weights reach this share of their sum;
  // from 1 on all of them. Below 1, quality is traded for work.
  float expert_top_p = 1;
  // The folder where packed weights are kept for the next start ("": the model's own), which then
  // takes them from there and shares their memory with other processes. Nothing: not kept. A cache
  // that does not fit the model is made anew.
  std::optional<std::filesystem::path> pack_cache = {};
  // Told now and then, on the loading thread, how many bytes of weights are there and of how many.
  std::function<void(uint64_t done_bytes, uint64_t all_bytes)> on_progress = {};
};

}  // namespace maglio

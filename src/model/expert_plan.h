// How the memory for experts is shared out: who is pinned, and how many slots each layer has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "maglio/expert_cache.h"
#include "model/expert_history.h"

namespace maglio {

struct LayerSlots {
  size_t n_slots = 0;            // pinned experts' among them
  std::vector<uint32_t> pinned;  // experts
};

// Pinned are the experts that earlier runs chose most, of all layers, as long as they were chosen
// more than an average one, and only where enough was seen to tell. The rest of the memory goes
// to all layers alike, for each token passes through all of them.
// expert_bytes: of one expert of each layer. Throws: Error bad_request "ExpertCacheTooSmall" where
// not every layer gets a slot that is not pinned.
std::vector<LayerSlots> plan_expert_cache(std::span<const size_t> expert_bytes,
                                          size_t n_experts,
                                          const ExpertHistory& history,
                                          const ExpertCacheOptions& options);

}  // namespace maglio

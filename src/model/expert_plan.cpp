#include "model/expert_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "maglio/error.h"

namespace maglio {
namespace {

// Choices for each expert, on average, from which on a history tells more than chance, which is a
// tenth of such a count.
constexpr uint64_t kTellingChoices = 100;

// Takes what they need from the budget.
void pin(std::span<const size_t> expert_bytes,
         const ExpertHistory& history,
         uint64_t budget_bytes,
         std::vector<LayerSlots>& layers) {
  const std::span<const uint64_t> counts = history.earlier();
  const uint64_t all = history.n_earlier();
  if (all < kTellingChoices * counts.size()) return;
  const size_t n_experts = counts.size() / layers.size();
  std::vector<uint32_t> order(counts.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, std::greater(), [&](uint32_t i) { return counts[i]; });
  for (const uint32_t i : order) {
    const size_t layer_i = i / n_experts;
    if (counts[i] * counts.size() <= all) break;  // no more than an average one
    if (expert_bytes[layer_i] > budget_bytes) break;
    budget_bytes -= expert_bytes[layer_i];
    layers[layer_i].pinned.push_back(static_cast<uint32_t>(i % n_experts));
  }
}

}  // namespace

std::vector<LayerSlots> plan_expert_cache(std::span<const size_t> expert_bytes,
                                          size_t n_experts,
                                          const ExpertHistory& history,
                                          const ExpertCacheOptions& options) {
  const uint64_t least = std::accumulate(expert_bytes.begin(), expert_bytes.end(), uint64_t{0});
  if (options.bytes < least) {
    throw Error(
        ErrorKind::bad_request, "ExpertCacheTooSmall",
        fmt::format("an expert cache of {} bytes: expected at least {}, one expert for each "
                    "of {} layers",
                    options.bytes, least, expert_bytes.size()));
  }
  std::vector<LayerSlots> layers(expert_bytes.size());
  pin(expert_bytes, history,
      std::min(options.pinned_bytes.value_or(options.bytes / 2), options.bytes - least), layers);
  uint64_t left = options.bytes;
  for (size_t i = 0; i < layers.size(); ++i) {
    layers[i].n_slots = layers[i].pinned.size();
    left -= layers[i].n_slots * expert_bytes[i];
  }
  for (bool gave = true; gave;) {
    gave = false;
    for (size_t i = 0; i < layers.size(); ++i) {
      if (layers[i].n_slots == n_experts || expert_bytes[i] > left) continue;
      ++layers[i].n_slots;
      left -= expert_bytes[i];
      gave = true;
    }
  }
  return layers;
}

}  // namespace maglio

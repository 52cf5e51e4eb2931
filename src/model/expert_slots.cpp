#include "model/expert_slots.h"

#include <cassert>
#include <cmath>

namespace maglio {
namespace {

// What a choice's weight in the average fades by with each later choice: half of it is gone after
// 700, some 90 tokens with eight experts each.
constexpr double kFade = 0.999;

}  // namespace

ExpertSlots::ExpertSlots(size_t n_experts,
                         size_t n_slots,
                         std::span<const uint32_t> pinned,
                         ExpertEviction eviction)
    : n_pinned_(pinned.size()),
      eviction_(eviction),
      slot_of_(n_experts, -1),
      expert_in_(n_slots, -1),
      frequency_(n_experts, 0.0f),
      last_chosen_(n_experts, 0) {
  assert(pinned.size() <= n_slots && n_slots <= n_experts);
  for (size_t slot = 0; slot < pinned.size(); ++slot) {
    expert_in_[slot] = static_cast<int32_t>(pinned[slot]);
    slot_of_[pinned[slot]] = static_cast<int32_t>(slot);
  }
}

std::optional<size_t> ExpertSlots::slot_of(uint32_t expert) const {
  const int32_t slot = slot_of_[expert];
  return slot < 0 ? std::nullopt : std::optional(static_cast<size_t>(slot));
}

std::optional<uint32_t> ExpertSlots::expert_in(size_t slot) const {
  const int32_t expert = expert_in_[slot];
  return expert < 0 ? std::nullopt : std::optional(static_cast<uint32_t>(expert));
}

void ExpertSlots::note_chosen(std::span<const ExpertDemand> chosen) {
  ++n_passes_;
  double n_choices = 0;
  for (const ExpertDemand& demand : chosen) n_choices += demand.n_tokens;
  if (n_choices == 0) return;
  const double kept = std::pow(kFade, n_choices);
  for (float& frequency : frequency_) frequency *= static_cast<float>(kept);
  for (const ExpertDemand& demand : chosen) {
    frequency_[demand.expert] += static_cast<float>((1 - kept) * demand.n_tokens / n_choices);
    last_chosen_[demand.expert] = n_passes_;
  }
}

bool ExpertSlots::goes_before(uint32_t a, uint32_t b) const {
  if (eviction_ == ExpertEviction::frequency && frequency_[a] != frequency_[b]) {
    return frequency_[a] < frequency_[b];
  }
  return last_chosen_[a] < last_chosen_[b];
}

std::optional<size_t> ExpertSlots::place(uint32_t expert, const May& may_give_way) {
  assert(slot_of_[expert] < 0);
  std::optional<size_t> best;
  for (size_t slot = n_pinned_; slot < n_slots(); ++slot) {
    if (!may_give_way(slot)) continue;
    if (!expert_in(slot)) {
      best = slot;
      break;
    }
    if (!best || goes_before(*expert_in(slot), *expert_in(*best))) best = slot;
  }
  if (!best) return std::nullopt;
  if (const auto evicted = expert_in(*best)) slot_of_[*evicted] = -1;
  expert_in_[*best] = static_cast<int32_t>(expert);
  slot_of_[expert] = static_cast<int32_t>(*best);
  return best;
}

}  // namespace maglio

// Which experts of a layer have a place in memory, and which of them gives way to another.
//
// A layer has so many slots. Pinned experts have theirs for ever; the others share what is left.
// By frequency, the expert that recent tokens chose most seldom gives way: an average over choices
// that fades, so that one odd token does not push out what the next thousand will ask for. Whoever
// was just read for such a token is then the next to go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "maglio/expert_cache.h"
#include "ops/router.h"

namespace maglio {

// Decides only: what is in the slots is its owner's. For one thread at a time.
class ExpertSlots {
 public:
  // Pinned experts take the first slots. Requires: no more of them than slots; no more slots than
  // experts.
  ExpertSlots(size_t n_experts,
              size_t n_slots,
              std::span<const uint32_t> pinned,
              ExpertEviction eviction);

  size_t n_slots() const { return expert_in_.size(); }
  size_t n_pinned() const { return n_pinned_; }
  bool is_pinned(size_t slot) const { return slot < n_pinned_; }

  std::optional<size_t> slot_of(uint32_t expert) const;
  std::optional<uint32_t> expert_in(size_t slot) const;

  // A pass has chosen these, which makes them harder to evict.
  void note_chosen(std::span<const ExpertDemand> chosen);

  // A slot for an expert that has none: an empty one, else that of the expert which gives way,
  // among those that may. Nothing: none may.
  using May = std::function<bool(size_t slot)>;
  std::optional<size_t> place(uint32_t expert, const May& may_give_way);

 private:
  bool goes_before(uint32_t a, uint32_t b) const;

  size_t n_pinned_;
  ExpertEviction eviction_;
  std::vector<int32_t> slot_of_;       // [n_experts]; -1: none
  std::vector<int32_t> expert_in_;     // [n_slots]; -1: none
  std::vector<float> frequency_;       // [n_experts], of late: its share of all choices
  std::vector<uint64_t> last_chosen_;  // [n_experts], in passes
  uint64_t n_passes_ = 0;
};

}  // namespace maglio

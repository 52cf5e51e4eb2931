// Experts on disk, as a mixture asks for them: the ones in memory at once, the others as they come.
//
// Three tiers. Pinned experts, which earlier runs used most, are read at the start and stay. Each
// layer keeps what it was asked for in slots, until something else needs the place
// (expert_slots.h). All others are read when they are needed, or a little before: what the next
// layer will probably ask for is read while this one computes. The thread that reads an expert
// packs it too, so it computes as a resident one does, to the last bit.
//
// A read that fails ends the pass with an Error and leaves its slot empty: the next pass reads
// again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/background_workers.h"
#include "base/page_range.h"
#include "kernels/kernels.h"
#include "maglio/expert_cache.h"
#include "model/expert_history.h"
#include "model/expert_layout.h"
#include "model/expert_reader.h"
#include "model/expert_slots.h"
#include "model/guess_trust.h"
#include "ops/expert_source.h"

namespace maglio {

// What a store is made of. All layers have as many experts.
struct ExpertStoreParts {
  std::vector<LayerLayout> layers;
  std::unique_ptr<ExpertReader> reader;
  ExpertHistory history;
  std::filesystem::path history_path;  // where it is kept at the end; empty: nowhere
};

// Owner of slots, threads and history; stays where it is. One pass at a time.
class ExpertStore {
 public:
  // Requires: at least one thread. Throws: Error bad_request "ExpertCacheTooSmall".
  ExpertStore(ExpertStoreParts parts, const Kernels& kernels, const ExpertCacheOptions& options);
  // Keeps the history, where that can be written, and says nothing where it cannot.
  ~ExpertStore();
  ExpertStore(const ExpertStore&) = delete;
  ExpertStore& operator=(const ExpertStore&) = delete;

  // A layer's experts. Valid as long as the store.
  std::unique_ptr<ExpertSource> source(size_t layer_i);

  ExpertCacheStats stats() const;

  // Keeps what was learned since it was last kept; not during a pass. Returns why it could not be
  // written. Without a place for it nothing is kept.
  std::optional<std::string> keep_history();

 private:
  class LayerSource;
  enum class Content : uint8_t { nothing, being_read, ready };
  struct Slot {
    std::byte* memory = nullptr;
    FeedForward weights;  // in that memory
    size_t layer_i = 0;
    uint32_t expert = 0;
    Content content = Content::nothing;
    size_t parts_to_come = 0;
    bool is_given_up = false;  // not all of its parts will come
    std::exception_ptr error;  // of a read that failed,
    uint64_t round = 0;        // which this round sent for; 0: it was read ahead
  };
  struct Guess {
    uint32_t expert;
    bool is_absent;  // from memory, when it was guessed,
    bool is_read;    // and then read
  };
  struct Layer {
    LayerLayout layout;
    ExpertSlots slots;
    size_t first_slot;  // in slots_
    GuessTrust trust;
    std::vector<Guess> foretold;  // for the next pass, the likeliest first; empty: nothing was
  };
  using Set = std::vector<bool>;  // of a layer's experts

  void make_slots();
  BackgroundWorkers::Job first_job(const Slot& slot) const;
  void send_for(size_t layer_i, std::span<const ExpertDemand> wanted);
  void lend(size_t layer_i, std::span<const ExpertDemand> wanted, const ExpertSource::Use& use);
  void expect(size_t layer_i, std::span<const ExpertDemand> likely);

  // With mutex_ held:
  Slot* slot_of(const Layer& layer, uint32_t expert);
  void count_asked(Layer& layer, std::span<const ExpertDemand> wanted);
  void judge_guesses(Layer& layer, std::span<const ExpertDemand> wanted);
  void drop_wrong_guesses(const Layer& layer, const Set& wanted);
  void start_reads(Layer& layer,
                   std::span<const ExpertDemand> demands,
                   const Set& keep,
                   Urgency urgency);
  void start_read(Slot& slot, Urgency urgency);
  std::vector<LentExpert> take_ready(const Layer& layer, std::vector<ExpertDemand>& left);

  void read_part(BackgroundWorkers::Job job, size_t worker_i);
  PartRead read_and_pack(const Slot& slot, size_t part_i, size_t worker_i);

  const Kernels& kernels_;
  bool lookahead_;
  std::unique_ptr<ExpertReader> reader_;
  ExpertHistory history_;
  std::filesystem::path history_path_;
  PageRange memory_;                // of slots
  std::vector<PageRange> buffers_;  // of each worker
  std::vector<Layer> layers_;
  uint64_t round_ = 0;              // a layer's experts are sent for and lent
  std::optional<size_t> sent_for_;  // the layer whose experts were sent for and not lent yet

  mutable std::mutex mutex_;         // of slots_ and stats_
  std::atomic<uint32_t> n_came_{0};  // parts, so that one can wait for the next
  std::vector<Slot> slots_;          // of all layers
  ExpertCacheStats stats_;

  std::optional<BackgroundWorkers> workers_;  // last: they end before what they write to
};

}  // namespace maglio

#include "model/expert_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

#include "base/escaped.h"
#include "maglio/error.h"
#include "model/expert_plan.h"
#include "model/packed_weights.h"

namespace maglio {
namespace {

std::vector<bool> set_of(std::span<const ExpertDemand> demands, size_t n_experts) {
  std::vector<bool> set(n_experts, false);
  for (const ExpertDemand& demand : demands) set[demand.expert] = true;
  return set;
}

}  // namespace

// A layer's experts, through the store.
class ExpertStore::LayerSource final : public ExpertSource {
 public:
  LayerSource(ExpertStore& store, size_t layer_i)
      : store_(store),
        layer_i_(layer_i),
        form_(store.layers_[layer_i].layout.at(nullptr, store.kernels_)) {}

  const FeedForward& form() const override { return form_; }
  size_t n_experts() const override { return store_.layers_[layer_i_].layout.n_experts; }
  void lend(std::span<const ExpertDemand> wanted, const Use& use) override {
    store_.lend(layer_i_, wanted, use);
  }
  bool looks_ahead() const override { return store_.lookahead_; }
  void send_for(std::span<const ExpertDemand> wanted) override {
    store_.send_for(layer_i_, wanted);
  }
  void expect(std::span<const ExpertDemand> likely) override { store_.expect(layer_i_, likely); }

 private:
  ExpertStore& store_;
  size_t layer_i_;
  FeedForward form_;
};

ExpertStore::ExpertStore(ExpertStoreParts parts,
                         const Kernels& kernels,
                         const ExpertCacheOptions& options)
    : kernels_(kernels),
      lookahead_(options.lookahead),
      reader_(std::move(parts.reader)),
      history_(std::move(parts.history)),
      history_path_(std::move(parts.history_path)) {
  std::vector<size_t> expert_bytes;
  size_t largest_part = 0;
  for (const LayerLayout& layout : parts.layers) {
    expert_bytes.push_back(layout.expert_bytes);
    largest_part = std::max(largest_part, layout.largest_part_bytes());
  }
  const auto plan =
      plan_expert_cache(expert_bytes, parts.layers.front().n_experts, history_, options);
  size_t n_slots = 0;
  for (size_t i = 0; i < plan.size(); ++i) {
    const size_t n_experts = parts.layers[i].n_experts;
    layers_.push_back({std::move(parts.layers[i]),
                       ExpertSlots(n_experts, plan[i].n_slots, plan[i].pinned, options.eviction),
                       n_slots,
                       {},
                       {}});
    n_slots += plan[i].n_slots;
  }
  make_slots();
  const size_t n_workers = options.n_io_threads;
  for (size_t i = 0; i < n_workers; ++i) {
    buffers_.emplace_back(PositionalFile::buffer_bytes(largest_part));
  }
  workers_.emplace(n_workers, [this](BackgroundWorkers::Job job, size_t i) { read_part(job, i); });
  const std::scoped_lock lock(mutex_);
  for (Slot& slot : slots_) {
    const Layer& layer = layers_[slot.layer_i];
    const auto i = static_cast<size_t>(&slot - slots_.data()) - layer.first_slot;
    if (!layer.slots.is_pinned(i)) continue;
    slot.expert = *layer.slots.expert_in(i);
    start_read(slot, Urgency::ahead);
  }
}

void ExpertStore::make_slots() {
  size_t bytes = 0;
  for (const Layer& layer : layers_) bytes += layer.slots.n_slots() * layer.layout.expert_bytes;
  memory_ = PageRange(bytes + kPrefetchRoom);
  std::byte* memory = memory_.data();
  for (size_t layer_i = 0; layer_i < layers_.size(); ++layer_i) {
    const Layer& layer = layers_[layer_i];
    for (size_t i = 0; i < layer.slots.n_slots(); ++i) {
      Slot& slot = slots_.emplace_back();
      slot.memory = memory;
      slot.weights = layer.layout.at(memory, kernels_);
      slot.layer_i = layer_i;
      memory += layer.layout.expert_bytes;
    }
    stats_.n_experts += layer.layout.n_experts;
    stats_.pinned += layer.slots.n_pinned();
  }
  stats_.capacity = slots_.size();
  stats_.capacity_bytes = bytes;
}

ExpertStore::~ExpertStore() {
  (void)keep_history();  // of use, not of need
}

std::optional<std::string> ExpertStore::keep_history() {
  return history_path_.empty() ? std::nullopt : history_.save(history_path_);
}

std::unique_ptr<ExpertSource> ExpertStore::source(size_t layer_i) {
  return std::make_unique<LayerSource>(*this, layer_i);
}

ExpertCacheStats ExpertStore::stats() const {
  const std::scoped_lock lock(mutex_);
  return stats_;
}

// --- What a layer asks ---------------------------------------------------------------------------

void ExpertStore::send_for(size_t layer_i, std::span<const ExpertDemand> wanted) {
  Layer& layer = layers_[layer_i];
  sent_for_ = layer_i;
  ++round_;
  history_.note(layer_i, wanted);
  layer.slots.note_chosen(wanted);
  const Set set = set_of(wanted, layer.layout.n_experts);
  const std::scoped_lock lock(mutex_);
  count_asked(layer, wanted);
  judge_guesses(layer, wanted);
  drop_wrong_guesses(layer, set);
  for (const ExpertDemand& demand : wanted) {
    Slot* const slot = slot_of(layer, demand.expert);
    if (slot == nullptr) continue;
    for (size_t i = 0; slot->content == Content::being_read && i < kExpertParts; ++i) {
      workers_->hurry(first_job(*slot) + i);
    }
  }
  start_reads(layer, wanted, set, Urgency::urgent);
}

// Those in memory are lent at once, and compute while the others are read.
void ExpertStore::lend(size_t layer_i,
                       std::span<const ExpertDemand> wanted,
                       const ExpertSource::Use& use) {
  if (sent_for_ != layer_i) send_for(layer_i, wanted);
  sent_for_.reset();
  Layer& layer = layers_[layer_i];
  std::vector<ExpertDemand> left(wanted.begin(), wanted.end());
  while (!left.empty()) {
    std::vector<LentExpert> lent;
    {
      std::unique_lock lock(mutex_);
      while (true) {
        // What was lent before may give way now, what is still to be lent may not.
        start_reads(layer, left, set_of(left, layer.layout.n_experts), Urgency::urgent);
        lent = take_ready(layer, left);
        if (!lent.empty()) break;
        const uint32_t n_seen = n_came_;
        lock.unlock();
        const auto start = std::chrono::steady_clock::now();
        n_came_.wait(n_seen);
        const std::chrono::duration<double, std::milli> stall =
            std::chrono::steady_clock::now() - start;
        lock.lock();
        stats_.stall_ms += stall.count();
      }
    }
    use(lent);
  }
}

void ExpertStore::expect(size_t layer_i, std::span<const ExpertDemand> likely) {
  Layer& layer = layers_[layer_i];
  layer.foretold.clear();
  std::vector<ExpertDemand> worth_it;
  const std::scoped_lock lock(mutex_);
  stats_.foretold += likely.size();
  for (size_t i = 0; i < likely.size(); ++i) {
    const Slot* const slot = slot_of(layer, likely[i].expert);
    const bool is_absent = slot == nullptr || slot->content == Content::nothing;
    const bool is_read = is_absent && layer.trust.is_worth_a_read(i, likely.size());
    layer.foretold.push_back({likely[i].expert, is_absent, is_read});
    if (is_read) worth_it.push_back(likely[i]);
  }
  start_reads(layer, worth_it, set_of(likely, layer.layout.n_experts), Urgency::ahead);
  for (Guess& guess : layer.foretold) {  // where all slots are in use, nobody gave way
    guess.is_read = guess.is_read && slot_of(layer, guess.expert) != nullptr;
    stats_.read_ahead += guess.is_read ? 1 : 0;
  }
}

// Of the reads of a slot's parts, which read_part takes apart again.
BackgroundWorkers::Job ExpertStore::first_job(const Slot& slot) const {
  return static_cast<size_t>(&slot - slots_.data()) * kExpertParts;
}

// --- With the mutex held -------------------------------------------------------------------------

ExpertStore::Slot* ExpertStore::slot_of(const Layer& layer, uint32_t expert) {
  const std::optional<size_t> slot = layer.slots.slot_of(expert);
  return slot ? &slots_[layer.first_slot + *slot] : nullptr;
}

void ExpertStore::count_asked(Layer& layer, std::span<const ExpertDemand> wanted) {
  stats_.asked += wanted.size();
  for (const ExpertDemand& demand : wanted) {
    const Slot* const slot = slot_of(layer, demand.expert);
    if (slot == nullptr || slot->content == Content::nothing || slot->is_given_up) continue;
    if (slot->content == Content::being_read) {
      ++stats_.late;
      continue;
    }
    ++stats_.hits;
    stats_.pinned_hits += layer.slots.is_pinned(*layer.slots.slot_of(demand.expert)) ? 1 : 0;
  }
}

void ExpertStore::judge_guesses(Layer& layer, std::span<const ExpertDemand> wanted) {
  if (layer.foretold.empty()) return;
  const Set was_wanted = set_of(wanted, layer.layout.n_experts);
  stats_.foretellable += wanted.size();
  for (size_t i = 0; i < layer.foretold.size(); ++i) {
    const Guess& guess = layer.foretold[i];
    const bool was_right = was_wanted[guess.expert];
    stats_.foretold_asked += was_right ? 1 : 0;
    stats_.read_ahead_asked += was_right && guess.is_read ? 1 : 0;
    if (guess.is_absent) layer.trust.judge(i, layer.foretold.size(), was_right);
  }
  layer.foretold.clear();
}

// Reads ahead that turned out to be of no use, as far as they have not begun, make room for those
// that are.
void ExpertStore::drop_wrong_guesses(const Layer& layer, const Set& wanted) {
  for (size_t i = layer.slots.n_pinned(); i < layer.slots.n_slots(); ++i) {
    Slot& slot = slots_[layer.first_slot + i];
    if (slot.content != Content::being_read || wanted[slot.expert]) continue;
    const size_t n_taken_back = workers_->withdraw(first_job(slot), kExpertParts);
    slot.parts_to_come -= n_taken_back;
    slot.is_given_up = slot.is_given_up || n_taken_back > 0;
    if (slot.parts_to_come == 0) slot.content = Content::nothing;
  }
}

// Of experts that are not there, as many as others give way to. Nobody in `keep` does.
void ExpertStore::start_reads(Layer& layer,
                              std::span<const ExpertDemand> demands,
                              const Set& keep,
                              Urgency urgency) {
  const auto may_give_way = [&](size_t i) {
    const Slot& slot = slots_[layer.first_slot + i];
    const std::optional<uint32_t> expert = layer.slots.expert_in(i);
    return slot.content != Content::being_read && !(expert && keep[*expert]);
  };
  for (const ExpertDemand& demand : demands) {
    Slot* slot = slot_of(layer, demand.expert);
    if (slot == nullptr) {
      if (!layer.slots.place(demand.expert, may_give_way)) continue;
      slot = slot_of(layer, demand.expert);
      slot->expert = demand.expert;
      slot->content = Content::nothing;
      slot->round = 0;
    }
    // What failed for somebody else is tried again, for this round it has failed.
    const bool failed = slot->error && slot->round == round_;
    if (slot->content == Content::nothing && !failed) start_read(*slot, urgency);
  }
}

void ExpertStore::start_read(Slot& slot, Urgency urgency) {
  slot.content = Content::being_read;
  slot.parts_to_come = kExpertParts;
  slot.is_given_up = false;
  slot.error = nullptr;
  slot.round = urgency == Urgency::urgent ? round_ : 0;
  for (size_t i = 0; i < kExpertParts; ++i) workers_->add(first_job(slot) + i, urgency);
}

// Takes those that are there out of `left`. Throws what happened to the read of one of them.
std::vector<LentExpert> ExpertStore::take_ready(const Layer& layer,
                                                std::vector<ExpertDemand>& left) {
  std::vector<LentExpert> ready;
  std::erase_if(left, [&](const ExpertDemand& demand) {
    const Slot* const slot = slot_of(layer, demand.expert);
    if (slot == nullptr) return false;
    if (slot->content == Content::nothing && slot->error && slot->round == round_) {
      std::rethrow_exception(slot->error);
    }
    if (slot->content != Content::ready) return false;
    ready.push_back({demand.expert, slot->weights});
    return true;
  });
  return ready;
}

// --- What the workers do -------------------------------------------------------------------------

// A slot that is being read is written to by its readers only, and they begin after it was set up.
void ExpertStore::read_part(BackgroundWorkers::Job job, size_t worker_i) {
  Slot& slot = slots_[job / kExpertParts];
  PartRead part;
  std::exception_ptr error;
  try {
    part = read_and_pack(slot, job % kExpertParts, worker_i);
  } catch (...) {  // for the thread that computes
    error = std::current_exception();
  }
  const std::scoped_lock lock(mutex_);
  ++stats_.reads;
  stats_.bytes_read += part.n_transferred;
  if (error) slot.error = error;
  if (--slot.parts_to_come == 0) {
    slot.content = slot.error || slot.is_given_up ? Content::nothing : Content::ready;
  }
  ++n_came_;
  n_came_.notify_all();
}

PartRead ExpertStore::read_and_pack(const Slot& slot, size_t part_i, size_t worker_i) {
  const StackLayout& stack = layers_[slot.layer_i].layout.stacks[part_i];
  const PageRange& buffer = buffers_[worker_i];
  try {
    const PartRead part = reader_->read(stack.of(slot.expert), {buffer.data(), buffer.size()});
    pack_rows(format_kernels(kernels_, stack.form.dtype), part.bytes.data(), stack.form.n_out,
              stack.form.n_in, slot.memory + stack.at);
    return part;
  } catch (const Error& error) {
    throw Error(
        error.kind(), error.code(),
        fmt::format("{}: expert {}: {}", escaped(stack.name), slot.expert, error.message()));
  }
}

}  // namespace maglio

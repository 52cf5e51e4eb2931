// A mixture whose experts stay on disk and are read when tokens need them (docs/experts.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace maglio {

// Which expert gives way when another needs its place.
enum class ExpertEviction : uint8_t {
  frequency,     // the one that recent tokens chose most seldom
  least_recent,  // the one that was not chosen for longest
};

struct ExpertCacheOptions {
  uint64_t bytes = 0;  // of memory for experts: pinned ones and the layers' caches together
  // Of these, for experts that earlier runs used most, which never give way. Nothing: half.
  std::optional<uint64_t> pinned_bytes = {};
  ExpertEviction eviction = ExpertEviction::frequency;
  // While a layer computes, read what the next one's router would choose for what is known so far.
  bool lookahead = true;
  // Keep a file beside the model with how often each expert was chosen; pin by it at the next
  // start.
  bool learn = true;
  size_t n_io_threads = 8;  // reads at the same time
  // Past the system's own cache of files, where the file system can do that.
  bool direct = true;
};

// What happened since the model was loaded.
struct ExpertCacheStats {
  uint64_t capacity_bytes = 0;  // of memory for experts
  uint64_t capacity = 0;        // experts that fit, of
  uint64_t n_experts = 0;       // all layers' experts
  uint64_t pinned = 0;          // of the capacity

  uint64_t asked = 0;             // experts that layers asked for; once a pass, however many tokens
  uint64_t hits = 0;              // that were in memory then,
  uint64_t pinned_hits = 0;       // of these, pinned
  uint64_t late = 0;              // that were being read ahead, or waited for that
  uint64_t reads = 0;             // calls of the system; for pinned experts and guesses too
  uint64_t bytes_read = 0;        // by them, with the blocks around what was wanted
  double stall_ms = 0;            // that computing waited for reads
  uint64_t foretold = 0;          // experts that were guessed to be asked for,
  uint64_t foretold_asked = 0;    // and were; of
  uint64_t foretellable = 0;      // experts that were asked for after a guess
  uint64_t read_ahead = 0;        // experts that were read because of a guess,
  uint64_t read_ahead_asked = 0;  // and were asked for next

  double hit_rate() const { return ratio(hits, asked); }
  double recall() const { return ratio(foretold_asked, foretellable); }  // of the lookahead

 private:
  static double ratio(uint64_t part, uint64_t all) {
    return all == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(all);
  }
};

}  // namespace maglio

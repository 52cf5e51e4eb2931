// What this machine can do at most, measured: how fast it reads memory, and how fast the active
// kernels' own instruction chains multiply and add (kernels.h, LimitKernels).
//
// Rates are the best of several passes: whatever else the machine is doing only makes them lower.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/aligned_bytes.h"
#include "base/thread_pool.h"
#include "kernels/kernels.h"

namespace maglio::app {

// "f32", "a16", "a8", "a8k".
std::string_view class_name(ActivationClass c);

struct MachineLimits {
  struct ReadRate {
    size_t n_threads = 0;
    double gb_s = 0;
  };
  using MacRates = std::array<double, kActivationClasses>;  // GMAC/s by class

  size_t n_threads = 0;
  std::vector<ReadRate> read;  // 1, 2, 4, ... and n_threads threads, ascending
  MacRates one_thread{};
  MacRates all_threads{};

  double read_gb_s() const { return read.empty() ? 0 : read.back().gb_s; }
  double gmac_s(ActivationClass c) const { return all_threads[static_cast<size_t>(c)]; }

  // The larger of each of the two rates of all threads.
  void raise_to(const MachineLimits& other);
};

// Two lines for people: "reading 24.1 GB/s with 1 thread, 38.0 with 2" and the rates of the
// classes.
std::string describe(const MachineLimits& limits, std::string_view isa);

// Keeps threads and memory, so that limits can be measured again beside what they bound: the clock
// of a shared machine drifts.
class LimitMeter {
 public:
  // Reads memory of that size: far more than caches hold.
  LimitMeter(const Kernels& kernels, size_t n_threads, size_t memory_bytes = beyond_caches());

  // As measured at most a few seconds ago: measures the rates of all threads again if need be.
  const MachineLimits& current();
  const MachineLimits& latest() const { return limits_; }

 private:
  static size_t beyond_caches();
  void measure_all();
  void refresh();
  double read_rate(ThreadPool& pool) const;
  double mac_rate(ThreadPool& pool, size_t class_i) const;

  const Kernels& kernels_;
  ThreadPool pool_;
  AlignedBytes memory_;
  MachineLimits limits_;
  std::chrono::steady_clock::time_point measured_at_;
};

}  // namespace maglio::app

// How bench measures: forward passes alone, by the wall clock, without sampling and tokenizing.
//
// Not timed, as in llama-bench: loading, filling the cache to a test's depth, and one run to warm
// up (the whole prompt, one token of generation). Then each sample begins with the cache at that
// depth again.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "maglio/bench_limits.h"
#include "maglio/bench_plan.h"
#include "maglio/bench_report.h"
#include "maglio/bench_work.h"
#include "maglio/model.h"
#include "maglio/storage_flags.h"
#include "model/kv_cache.h"

namespace maglio::app {

struct BenchRunOptions {
  size_t n_repetitions = 5;
  bool warm_up = true;
  StorageFlags storage = {};
};

// Runs tests one after the other and keeps what the next one can use again: the model while file
// and threads stay the same, the filled caches while they are of the same type, the limits.
class BenchRunner {
 public:
  // Measures the limits for every number of threads in the plan.
  BenchRunner(const std::vector<BenchTest>& plan, const BenchRunOptions& options);
  ~BenchRunner();

  // Of each number of threads, as measured at the start.
  std::vector<MachineLimits> limits() const;
  const std::string& isa() const { return isa_; }

  BenchResult run(const BenchTest& test);

 private:
  struct Loaded;
  class Caches;

  Loaded& loaded(const BenchTest& test);
  LoadOptions load_options(const BenchTest& test) const;
  std::vector<uint64_t> sample(Loaded& model, const BenchTest& test);

  BenchRunOptions options_;
  size_t capacity_ = 0;                // positions that the deepest test needs
  size_t n_streams_ = 1;               // that the widest test needs
  CacheType cache_ = CacheType::q8_0;  // the larger type of those in the plan
  std::string isa_;
  std::map<size_t, std::unique_ptr<LimitMeter>> meters_;  // by threads
  std::unique_ptr<Loaded> loaded_;
  std::map<std::string, double> alone_;  // tokens a second of one stream, by test
};

}  // namespace maglio::app

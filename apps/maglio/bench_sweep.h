// The sweep: 40 prompt lengths from 1 to 1024 and cache depths up to 16k, chosen where an engine's
// speed may have edges, and its comparison with another engine's run over the same.
//
// Prompts begin with an empty cache; at each depth some tokens are generated and a prompt of
// kSweepPrompt tokens is read.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maglio/bench_plan.h"
#include "maglio/bench_report.h"

namespace maglio::app {

struct SweepGroup {
  std::string_view name;
  std::string_view why;
  std::vector<size_t> lengths;  // ascending
};

// All groups have other lengths, ascending; together they are 40.
const std::vector<SweepGroup>& sweep_groups();
// Of every group, ascending.
std::vector<size_t> sweep_lengths();
// The name of the group that a length belongs to; empty for others.
std::string_view sweep_group_of(size_t length);

inline constexpr size_t kSweepPrompt = 128, kSweepGen = 32;
std::vector<size_t> sweep_depths();

// What a sweep measures, in this order, with everything else as in `base`: the lengths, then at
// each depth kSweepPrompt tokens read and n_gen generated.
std::vector<BenchTest> sweep_tests(const BenchTest& base,
                                   std::span<const size_t> depths,
                                   size_t n_gen);

// One measured speed, of any engine.
struct SpeedPoint {
  size_t n_prompt = 0, n_gen = 0, n_depth = 0;
  double ts = 0;  // tokens a second, median of the samples

  bool same_test(const SpeedPoint& other) const {
    return n_prompt == other.n_prompt && n_gen == other.n_gen && n_depth == other.n_depth;
  }
};

struct SweepRun {
  std::string engine;  // "maglio 3f2a1bc, avx2"
  std::string model;   // "qwen3 0.60B Q8_0"
  std::string cpu;
  size_t n_threads = 0;
  std::vector<SpeedPoint> points = {};
};

SweepRun run_of(const std::vector<BenchResult>& results);
// The JSON that bench or llama-bench has printed with -o json.
// Throws: Error bad_file "BadBenchJson", naming `source` and what is missing.
SweepRun parse_run(std::string_view json, const std::string& source);

// What both runs have measured, in the order of `ours`.
struct SpeedRatio {
  SpeedPoint ours, theirs;
  double ratio() const { return ours.ts / theirs.ts; }
};
std::vector<SpeedRatio> compare_runs(const SweepRun& ours, const SweepRun& theirs);

// The comparison as a markdown table, and a line that says where the ratio is lowest.
std::string comparison_table(const SweepRun& ours, const SweepRun& theirs);

}  // namespace maglio::app

// How bench prints what it has measured: llama-bench's formats, columns and keys, and a few more.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "maglio/bench_plan.h"

namespace maglio::app {

struct BenchResult {
  BenchTest test;
  std::string model_type;   // "qwen3 0.60B Q8_0"
  uint64_t model_size = 0;  // bytes of all tensors
  uint64_t n_parameters = 0;
  std::string cpu;        // as the operating system calls it
  std::string isa;        // instruction set in use
  std::string test_time;  // UTC, ISO 8601
  std::vector<uint64_t> samples_ns;
  double limit_gb_s = 0;  // measured memory bandwidth; 0 where it was not

  std::vector<double> tokens_per_second() const;  // of each sample
  double mean_ns() const;
  double mean_ts() const;
  double stddev_ns() const;  // of the sample (n - 1); 0 for one run
  double stddev_ts() const;
  // Weights read per second while generating, at the mean speed; 0 for other tests.
  double gb_s() const;
};

class BenchPrinter {
 public:
  virtual ~BenchPrinter() = default;
  virtual std::string header() const { return {}; }
  virtual std::string row(const BenchResult& result) = 0;
  virtual std::string footer() const { return {}; }
};

// format: md, csv, json or jsonl.
std::unique_ptr<BenchPrinter> bench_printer(std::string_view format);

}  // namespace maglio::app

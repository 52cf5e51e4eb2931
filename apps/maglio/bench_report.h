// How bench prints what it has measured: llama-bench's formats, columns and keys, and beside them
// what was read and multiplied a second, and how near that is to the machine's limits.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "maglio/bench_limits.h"
#include "maglio/bench_plan.h"
#include "maglio/bench_work.h"

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
  Work work;                            // of one sample
  MachineLimits limits;                 // of the test's threads, measured beside it
  std::optional<double> one_stream_ts;  // of the same test with one stream

  std::vector<double> tokens_per_second() const;  // of each sample
  double mean_ns() const;
  double mean_ts() const;
  double stddev_ns() const;  // of the sample (n - 1); 0 for one run
  double stddev_ts() const;

  // Weights and cache read per second while generating, at the mean speed; 0 where a prompt is
  // part of the test. Its share of the measured read rate.
  double gb_s() const;
  double read_share() const;
  // Multiply-adds per second of products and attention; the share of the time that they would take
  // at the peak rates of their classes.
  double gmac_s() const;
  double peak_share() const;
  // Tokens per second that neither limit lets this test exceed.
  double bound_ts() const;

 private:
  double mean_seconds() const;  // that a sample takes at the mean speed
};

class BenchPrinter {
 public:
  virtual ~BenchPrinter() = default;
  virtual std::string header(const std::vector<MachineLimits>&, std::string_view) { return {}; }
  virtual std::string row(const BenchResult& result) = 0;
  virtual std::string footer() const { return {}; }
};

// format: md, csv, json or jsonl. with_streams: md has columns that compare streams with one.
std::unique_ptr<BenchPrinter> bench_printer(std::string_view format, bool with_streams = false);

}  // namespace maglio::app

// Which measurements a bench run makes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "maglio/storage_flags.h"

namespace CLI {
class App;
}

namespace maglio::app {

// One measurement: n_prompt tokens in spans of n_ubatch, then n_gen tokens one by one, on a cache
// that holds n_depth tokens already. Several streams, each with a cache of its own, generate one
// token each a step.
struct BenchTest {
  std::string model;  // path
  size_t n_threads = 0;
  std::string cache_type = "f16";
  size_t n_batch = 2048;
  size_t n_ubatch = 512;
  size_t n_depth = 0;
  size_t n_prompt = 0;
  size_t n_gen = 0;
  size_t n_streams = 1;  // more than one only where n_prompt is 0

  bool operator==(const BenchTest&) const = default;
  size_t n_tokens() const { return n_prompt + n_gen * n_streams; }
  // pp512, tg128, pp512+tg128; with " x8" for eight streams, " @ d512" for a depth.
  std::string name() const;
};

// The flags as given; each is a list "a,b", a range "a-b", "a-b+step" or "a-b*factor", or several.
struct BenchFlags {
  std::vector<std::string> models, model_options;
  std::vector<std::string> n_prompt, n_gen, pg, n_depth, n_batch, n_ubatch, n_threads, cache_k,
      cache_v, n_streams;
  size_t n_repetitions = 5;
  bool no_warmup = false;
  StorageFlags storage;
  std::string output = "md";
  std::string output_err = "none";
  bool sweep = false;
  bool plan_only = false;
  std::string from, versus, plot;  // paths; empty: none

  void add_to(CLI::App& command);

  // The cross product, in llama-bench's order. Where several streams are wanted, one alone comes
  // first.
  // With --sweep its lengths and depths instead. Empty where results come from a file.
  // Throws: CLI::ValidationError for what does not parse.
  std::vector<BenchTest> plan() const;

 private:
  std::vector<BenchTest> cross_product() const;
  std::vector<BenchTest> sweep_plan() const;
};

// "1-4" is {1, 2, 3, 4}; "1-8*2,100" is {1, 2, 4, 8, 100}. Throws: CLI::ValidationError.
std::vector<size_t> parse_counts(std::string_view flag, std::string_view text);

}  // namespace maglio::app

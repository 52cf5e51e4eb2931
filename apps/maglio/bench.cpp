// maglio bench: prompt and generation speed, as llama-bench measures them: forward passes alone,
// without sampling and tokenizing.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <vector>

#include "base/random.h"
#include "base/thread_pool.h"
#include "maglio/bench_plan.h"
#include "maglio/bench_report.h"
#include "maglio/commands.h"
#include "maglio/model.h"
#include "maglio/terminal.h"
#include "model/kv_cache.h"
#include "model/model.h"

namespace maglio::app {
namespace {

using Clock = std::chrono::steady_clock;

std::string cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

// "qwen3 0.60B Q8_0": architecture, parameters, the format of most bytes.
std::string model_type(const ModelInfo& info) {
  const auto most =
      std::max_element(info.formats.begin(), info.formats.end(),
                       [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  return fmt::format("{} {:.2f}B {}", info.architecture,
                     static_cast<double>(info.n_parameters) / 1e9,
                     most == info.formats.end() ? "" : most->name);
}

uint64_t tensor_bytes(const ModelInfo& info) {
  uint64_t sum = 0;
  for (const auto& format : info.formats) sum += format.bytes;
  return sum;
}

// How fast these threads can read memory: the limit of generation, which reads every weight once a
// token. Best of a few passes over a buffer that no cache holds.
double read_bandwidth_gb_s(size_t n_threads) {
  constexpr size_t kWords = (size_t{256} << 20) / sizeof(uint64_t);
  constexpr size_t kGrain = (size_t{1} << 20) / sizeof(uint64_t);
  constexpr int kPasses = 5;
  const std::vector<uint64_t> words(kWords, 1);
  ThreadPool pool(n_threads);
  std::vector<uint64_t> sums(n_threads * 8);
  double best_s = 1e9;
  for (int pass = 0; pass < kPasses; ++pass) {
    const auto start = Clock::now();
    pool.parallel_for(kWords, kGrain, [&](size_t begin, size_t end, size_t thread_i) {
      uint64_t a = 0, b = 0, c = 0, d = 0;
      for (size_t i = begin; i + 3 < end; i += 4) {
        a += words[i];
        b += words[i + 1];
        c += words[i + 2];
        d += words[i + 3];
      }
      sums[thread_i * 8] += a + b + c + d;
    });
    best_s = std::min(best_s, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return static_cast<double>(kWords * sizeof(uint64_t)) / best_s / 1e9;
}

// The model of the test before, while path and threads stay the same.
class LoadedOnce {
 public:
  Model& get(const BenchTest& test) {
    if (!model_ || test.model != path_ || test.n_threads != n_threads_) {
      model_.reset();  // frees the old one first
      const ProgressNote note(
          fmt::format("loading {} ...", std::filesystem::path(test.model).filename().string()));
      LoadOptions options;
      options.n_threads = test.n_threads;
      model_ = Model::load(test.model, options);
      limit_gb_s_ = read_bandwidth_gb_s(test.n_threads);
      path_ = test.model;
      n_threads_ = test.n_threads;
    }
    return *model_;
  }
  double limit_gb_s() const { return limit_gb_s_; }

 private:
  std::optional<Model> model_;
  std::string path_;
  size_t n_threads_ = 0;
  double limit_gb_s_ = 0;
};

// Tokens at random: what they say makes no difference to the time.
class TokenSource {
 public:
  explicit TokenSource(size_t vocab_size) : vocab_size_(vocab_size), random_(1) {}
  std::vector<TokenId> take(size_t n) {
    std::vector<TokenId> ids(n);
    for (TokenId& id : ids) id = static_cast<TokenId>(random_.next() % vocab_size_);
    return ids;
  }

 private:
  size_t vocab_size_;
  Random random_;
};

void read_prompt(Transformer& model, KvCache& cache, std::span<const TokenId> ids, size_t span) {
  while (!ids.empty()) {
    const size_t n = std::min(span, ids.size());
    model.forward_step(cache, ids.first(n), cache.length());
    ids = ids.subspan(n);
  }
}

void run_once(Transformer& model, KvCache& cache, const BenchTest& test, TokenSource& tokens) {
  read_prompt(model, cache, tokens.take(test.n_prompt), test.n_ubatch);
  for (size_t i = 0; i < test.n_gen; ++i) {
    model.forward_step(cache, tokens.take(1), cache.length());
  }
}

std::vector<uint64_t> measure(Transformer& model, const BenchTest& test, const BenchFlags& flags) {
  const CacheType type = test.cache_type == "f16" ? CacheType::f16 : CacheType::q8_0;
  KvCache cache = model.new_cache(test.n_depth + test.n_prompt + test.n_gen, type);
  TokenSource tokens(model.config().vocab_size);
  read_prompt(model, cache, tokens.take(test.n_depth), test.n_ubatch);
  if (!flags.no_warmup) {
    BenchTest warmup = test;
    warmup.n_gen = std::min<size_t>(test.n_gen, 1);
    run_once(model, cache, warmup, tokens);
  }
  std::vector<uint64_t> samples_ns;
  for (size_t i = 0; i < flags.n_repetitions; ++i) {
    cache.truncate(test.n_depth);
    const auto start = Clock::now();
    run_once(model, cache, test, tokens);
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start);
    samples_ns.push_back(static_cast<uint64_t>(ns.count()));
  }
  return samples_ns;
}

void emit(std::FILE* stream, const std::string& text) {
  fmt::print(stream, "{}", text);
  std::fflush(stream);
}

void run_bench(const BenchFlags& flags) {
  const std::vector<BenchTest> tests = flags.plan();
  const auto printer = bench_printer(flags.output);
  const auto second = flags.output_err == "none" ? nullptr : bench_printer(flags.output_err);
  LoadedOnce loaded;
  emit(stdout, printer->header());
  if (second) emit(stderr, second->header());
  for (const BenchTest& test : tests) {
    Model& model = loaded.get(test);
    BenchResult result{.test = test,
                       .model_type = model_type(model.info()),
                       .model_size = tensor_bytes(model.info()),
                       .n_parameters = model.info().n_parameters,
                       .cpu = cpu_name(),
                       .isa = model.info().isa,
                       .test_time = utc_now(),
                       .samples_ns = {},
                       .limit_gb_s = loaded.limit_gb_s()};
    result.samples_ns = measure(model.parts().transformer, test, flags);
    emit(stdout, printer->row(result));
    if (second) emit(stderr, second->row(result));
  }
  emit(stdout, printer->footer());
  if (second) emit(stderr, second->footer());
}

}  // namespace

std::vector<std::string> with_double_dashes(std::vector<std::string> bench_arguments) {
  for (std::string& argument : bench_arguments) {
    for (const char* flag : {"-pg", "-ub", "-ctk", "-ctv", "-oe"}) {
      if (argument == flag) argument.insert(argument.begin(), '-');
    }
  }
  return bench_arguments;
}

void add_bench_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "Measure prompt and generation speed");
  command->footer(
      "Flags that take numbers take lists and ranges: 1,2,4 or 1-8 or 16-128+16 or 1-8*2. "
      "llama-bench's spelling works: -pg 512,128 -ub 256 -ctk q8_0. GB/s is what the weights alone "
      "need while generating, the limit is this machine's, measured at the start.");
  const auto flags = std::make_shared<BenchFlags>();
  flags->add_to(*command);
  command->callback([flags] { run_bench(*flags); });
}

}  // namespace maglio::app

#include "maglio/bench_run.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <span>
#include <utility>

#include "gguf/reader.h"
#include "kernels/registry.h"
#include "maglio/memory_report.h"
#include "maglio/terminal.h"
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

void run_once(Transformer& model,
              std::span<KvCache* const> caches,
              const BenchTest& test,
              TokenSource& tokens) {
  read_prompt(model, *caches[0], tokens.take(test.n_prompt), test.n_ubatch);
  for (size_t i = 0; i < test.n_gen; ++i) {
    model.forward_step_batch(caches, tokens.take(caches.size()));
  }
}

}  // namespace

// The caches of the streams, as deep as the tests so far have filled them.
class BenchRunner::Caches {
 public:
  // The first n caches, at the test's depth.
  std::vector<KvCache*> filled(Transformer& model,
                               const BenchTest& test,
                               size_t capacity,
                               TokenSource& tokens) {
    if (type_ != test.cache_type) caches_.clear();
    type_ = test.cache_type;
    while (caches_.size() < test.n_streams) {
      caches_.push_back(
          model.new_cache(capacity, type_ == "f16" ? CacheType::f16 : CacheType::q8_0));
    }
    std::vector<KvCache*> caches;
    for (size_t i = 0; i < test.n_streams; ++i) {
      KvCache& cache = caches_[i];
      cache.truncate(test.n_depth);
      if (cache.length() < test.n_depth) {
        const ProgressNote note(fmt::format("filling a cache to depth {} ...", test.n_depth));
        read_prompt(model, cache, tokens.take(test.n_depth - cache.length()), test.n_ubatch);
      }
      caches.push_back(&cache);
    }
    return caches;
  }

 private:
  std::string type_;
  std::vector<KvCache> caches_;
};

struct BenchRunner::Loaded {
  Loaded(const BenchTest& test, Model loaded_model)
      : path(test.model),
        n_threads(test.n_threads),
        model(std::move(loaded_model)),
        transformer(model.parts().transformer),
        work(gguf::File::open(test.model),
             transformer.config(),
             transformer.kernels(),
             {.all = transformer.weight_bytes(), .experts = transformer.expert_bytes()}),
        tokens(transformer.config().vocab_size) {}

  std::string path;
  size_t n_threads;
  Model model;
  Transformer& transformer;
  ModelWork work;
  TokenSource tokens;
  Caches caches;
};

BenchRunner::BenchRunner(const std::vector<BenchTest>& plan, const BenchRunOptions& options)
    : options_(options), isa_(active_kernels().name) {
  const ProgressNote note("measuring this machine's limits ...");
  for (const BenchTest& test : plan) {
    capacity_ = std::max(capacity_, test.n_depth + test.n_prompt + test.n_gen);
    n_streams_ = std::max(n_streams_, test.n_streams);
    if (test.cache_type == "f16") cache_ = CacheType::f16;
    auto& meter = meters_[test.n_threads];
    if (!meter) meter = std::make_unique<LimitMeter>(active_kernels(), test.n_threads);
  }
}

BenchRunner::~BenchRunner() = default;

std::vector<MachineLimits> BenchRunner::limits() const {
  std::vector<MachineLimits> all;
  for (const auto& [n_threads, meter] : meters_) all.push_back(meter->latest());
  return all;
}

BenchResult BenchRunner::run(const BenchTest& test) {
  Loaded& model = loaded(test);
  const ModelInfo& info = model.model.info();
  LimitMeter& meter = *meters_.at(test.n_threads);
  BenchResult result{.test = test,
                     .model_type = model_type(info),
                     .model_size = tensor_bytes(info),
                     .n_parameters = info.n_parameters,
                     .cpu = cpu_name(),
                     .isa = info.isa,
                     .test_time = utc_now(),
                     .samples_ns = {},
                     .work = {},
                     .limits = meter.current(),
                     .one_stream_ts = {}};
  result.samples_ns = sample(model, test);
  result.limits.raise_to(meter.current());
  const size_t kv_bytes = test.cache_type == "f16" ? info.kv_bytes_f16 : info.kv_bytes_q8_0;
  result.work = work_of(test, model.work, kv_bytes);

  BenchTest alone = test;
  alone.n_streams = 1;
  const std::string key =
      fmt::format("{} {} {} {}", test.model, test.n_threads, test.cache_type, alone.name());
  if (test.n_streams == 1) alone_[key] = result.mean_ts();
  if (alone_.contains(key)) result.one_stream_ts = alone_[key];
  return result;
}

BenchRunner::Loaded& BenchRunner::loaded(const BenchTest& test) {
  if (!loaded_ || test.model != loaded_->path || test.n_threads != loaded_->n_threads) {
    loaded_.reset();  // frees the old one first
    const ProgressNote note(
        fmt::format("loading {} ...", std::filesystem::path(test.model).filename().string()));
    loaded_ = std::make_unique<Loaded>(test, Model::load(test.model, load_options(test)));
  }
  return *loaded_;
}

LoadOptions BenchRunner::load_options(const BenchTest& test) const {
  LoadOptions options;
  options.n_threads = test.n_threads;
  StorageFlags storage = options_.storage;
  storage.put_into(options);
  if (storage.fit) {
    const MemoryWishes wishes{.cache = cache_, .context = capacity_, .n_sequences = n_streams_};
    const Fitted fitted = fit_model(test.model, wishes, options);
    storage.adopt(fitted);
    storage.put_into(options);
    remark(fitted.note + storage.unused_note());
  }
  if (options.expert_cache) options.expert_cache->learn = false;  // random tokens teach nothing
  return options;
}

std::vector<uint64_t> BenchRunner::sample(Loaded& model, const BenchTest& test) {
  const std::vector<KvCache*> caches =
      model.caches.filled(model.transformer, test, capacity_, model.tokens);
  if (options_.warm_up) {
    BenchTest warm_up = test;
    warm_up.n_gen = std::min<size_t>(test.n_gen, 1);
    run_once(model.transformer, caches, warm_up, model.tokens);
  }
  std::vector<uint64_t> samples_ns;
  for (size_t i = 0; i < options_.n_repetitions; ++i) {
    for (KvCache* cache : caches) cache->truncate(test.n_depth);
    const auto start = Clock::now();
    run_once(model.transformer, caches, test, model.tokens);
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start);
    samples_ns.push_back(static_cast<uint64_t>(ns.count()));
  }
  for (KvCache* cache : caches) cache->truncate(test.n_depth);
  return samples_ns;
}

}  // namespace maglio::app

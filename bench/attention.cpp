// Attention alone, on the geometry of Qwen3-0.6B (16 query heads, 8 kv heads, 128 channels):
//
//   bench_attention [THREADS] [lengths]
//
//   decode    one token at the end of a context: GB of keys and values read a second, beside the
//             rate at which the same threads read plain memory, measured in turns
//   prefill   512 tokens at the end of a context: multiply-adds a second, counting visible pairs,
//             beside what the same threads do on registers
//   fork      an empty parallel_for while the workers spin
//   lengths   decode at 1 to 32,768 positions, around the edges of pages: is there a cliff?
//
// Layers are cycled so that the caches are larger than the processor's. Medians of seven rounds.
#include "ops/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "base/aligned_bytes.h"
#include "base/cpu_count.h"
#include "base/thread_pool.h"
#include "kernels/registry.h"
#include "model/kv_cache.h"

namespace {

using namespace maglio;
using Clock = std::chrono::steady_clock;

constexpr size_t kHeads = 16, kKvHeads = 8, kHeadDim = 128;
constexpr int kRounds = 7;

bool one_thread = false;

// With one thread CPU time, so that a busy machine counts less.
template <class F>
double seconds_of(F&& f) {
  const auto start = Clock::now();
  const std::clock_t cpu_start = std::clock();
  f();
  if (one_thread) return static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::vector<float> random_numbers(size_t n) {
  std::mt19937 rng(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> numbers(n);
  for (float& x : numbers) x = uniform(rng);
  return numbers;
}

// What the machine can do, for comparison.
class Limits {
 public:
  explicit Limits(ThreadPool& pool) : pool_(pool), bytes_(size_t{256} << 20) {
    std::fill_n(bytes_.data(), bytes_.size(), std::byte{1});
  }
  double read_gb_per_s() {
    const double s = seconds_of([&] {
      pool_.parallel_for(bytes_.size(), 1 << 20, [&](size_t begin, size_t end, size_t) {
        sum_ += active_kernels().limits.read(bytes_.data() + begin, end - begin, 8192);
      });
    });
    return static_cast<double>(bytes_.size()) / s / 1e9;
  }
  double gmac_per_s() {
    constexpr size_t kMany = 200000;
    std::atomic<uint64_t> n{0};
    const double s = seconds_of([&] {
      pool_.parallel_for(pool_.size(), 1, [&](size_t begin, size_t end, size_t) {
        for (size_t i = begin; i < end; ++i) n += active_kernels().limits.multiply_adds[0](kMany);
      });
    });
    return static_cast<double>(n) / s / 1e9;
  }

 private:
  ThreadPool& pool_;
  AlignedBytes bytes_;
  std::atomic<uint64_t> sum_{0};
};

KvCache filled_cache(ThreadPool& pool, size_t n_layers, CacheType type, size_t n) {
  KvCache cache({n_layers, kKvHeads, kHeadDim}, type, n, active_kernels());
  const std::vector<float> rows = random_numbers(n * kKvHeads * kHeadDim);
  const Tensor<const float, Seq, KvHead, Dim> x(rows.data(), {n, kKvHeads, kHeadDim});
  for (size_t layer = 0; layer < n_layers; ++layer) cache.append_layer(pool, layer, x, x);
  cache.advance(n);
  return cache;
}

void attend_layers(Context& cx, const KvCache& cache, const std::vector<float>& q, size_t n_rows) {
  const Tensor<const float, Seq, Head, Dim> queries(q.data(), {n_rows, kHeads, kHeadDim});
  for (size_t layer = 0; layer < cache.shape().n_layers; ++layer) {
    const Arena::Scope scope(cx.arena);
    attend(cx, queries, cache.pages(layer), cache.length());
  }
}

void measure_decode(Context& cx, Limits& machine, CacheType type, size_t context) {
  const size_t n_layers = context <= 4096 ? 28 : 16;  // 4 KB a position and layer in f16
  const KvCache cache = filled_cache(cx.pool, n_layers, type, context);
  const std::vector<float> q = random_numbers(kHeads * kHeadDim);
  const double bytes = static_cast<double>(cache.bytes_per_position() * context);
  attend_layers(cx, cache, q, 1);
  std::vector<double> rates, limits;
  for (int i = 0; i < kRounds; ++i) {
    rates.push_back(bytes / seconds_of([&] { attend_layers(cx, cache, q, 1); }) / 1e9);
    limits.push_back(machine.read_gb_per_s());
  }
  fmt::print(
      "decode  {:5} context {:6}: {:6.1f} GB/s, memory {:5.1f} GB/s, {:3.0f} %; {:7.0f} us a "
      "layer\n",
      type == CacheType::f16 ? "f16" : "q8_0", context, median(rates), median(limits),
      100 * median(rates) / median(limits),
      bytes / median(rates) / 1e3 / static_cast<double>(cache.shape().n_layers));
}

void measure_prefill(Context& cx, Limits& machine, CacheType type, size_t context) {
  constexpr size_t kRows = 512;
  const KvCache cache = filled_cache(cx.pool, 4, type, context);
  const std::vector<float> q = random_numbers(kRows * kHeads * kHeadDim);
  double pairs = 0;
  for (size_t row = 0; row < kRows; ++row) pairs += static_cast<double>(context - kRows + row + 1);
  const double macs = pairs * 2 * kHeadDim * kHeads * 4;
  attend_layers(cx, cache, q, kRows);
  std::vector<double> rates, limits;
  for (int i = 0; i < kRounds; ++i) {
    rates.push_back(macs / seconds_of([&] { attend_layers(cx, cache, q, kRows); }) / 1e9);
    limits.push_back(machine.gmac_per_s());
  }
  fmt::print("prefill {:5} context {:6}: {:6.1f} GMAC/s, registers {:5.1f}, {:3.0f} %\n",
             type == CacheType::f16 ? "f16" : "q8_0", context, median(rates), median(limits),
             100 * median(rates) / median(limits));
}

// Few layers at great lengths: the caches need not be larger than memory.
void measure_lengths(Context& cx, CacheType type) {
  for (const size_t n : {1,    31,   32,   33,   63,   64,   65,    96,    127,   128,   129,  191,
                         192,  193,  256,  511,  512,  513,  1023,  1024,  1025,  2047,  2048, 2049,
                         3000, 4096, 4097, 6000, 8192, 8193, 12000, 16384, 16385, 24000, 32768}) {
    const size_t n_layers = std::clamp<size_t>(65536 / n, 1, 28);
    const KvCache cache = filled_cache(cx.pool, n_layers, type, n);
    const std::vector<float> q = random_numbers(kHeads * kHeadDim);
    attend_layers(cx, cache, q, 1);
    std::vector<double> times;
    for (int i = 0; i < kRounds; ++i) {
      times.push_back(seconds_of([&] { attend_layers(cx, cache, q, 1); }));
    }
    const double us = 1e6 * median(times) / static_cast<double>(n_layers);
    fmt::print("length {:5} {:6}: {:8.1f} us a layer, {:7.1f} ns a position\n",
               type == CacheType::f16 ? "f16" : "q8_0", n, us, 1e3 * us / static_cast<double>(n));
  }
}

void measure_fork(ThreadPool& pool) {
  constexpr int kJobs = 20000;
  std::vector<double> times;
  for (int i = 0; i < kRounds; ++i) {
    times.push_back(seconds_of([&] {
                      for (int job = 0; job < kJobs; ++job)
                        pool.parallel_for(pool.size(), 1, [](size_t, size_t, size_t) {});
                    }) /
                    kJobs);
  }
  fmt::print("fork and join: {:.2f} us\n", 1e6 * median(times));
}

}  // namespace

int main(int argc, char** argv) {
  const size_t n_threads =
      argc > 1 ? static_cast<size_t>(std::atoi(argv[1])) : default_thread_count();
  ThreadPool pool(n_threads);
  one_thread = pool.size() == 1;
  Arena arena;
  Context cx{pool, arena, active_kernels()};
  fmt::print("{} threads, {}\n", pool.size(), active_kernels().name);
  measure_fork(pool);
  if (argc > 2 && argv[2] == std::string("lengths")) {
    for (const CacheType type : {CacheType::f16, CacheType::q8_0}) measure_lengths(cx, type);
    return 0;
  }
  Limits machine(pool);
  for (const CacheType type : {CacheType::f16, CacheType::q8_0}) {
    for (const size_t context : {512, 4096, 16384}) measure_decode(cx, machine, type, context);
  }
  for (const CacheType type : {CacheType::f16, CacheType::q8_0}) {
    for (const size_t context : {512, 4096, 16384}) measure_prefill(cx, machine, type, context);
  }
  return 0;
}

#include "maglio/bench_limits.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

namespace maglio::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPasses = 10;
constexpr std::chrono::seconds kStaysTrue{2};
constexpr size_t kPiece = size_t{1} << 20;  // bytes that a thread reads at a time

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Rounds of the kernel that take about a third of a millisecond.
size_t rounds_of_a_piece(uint64_t (*multiply_adds)(size_t)) {
  constexpr double kSeconds = 0.3e-3;
  size_t n = 1;
  while (true) {
    const auto start = Clock::now();
    multiply_adds(n);
    const double s = seconds_since(start);
    if (s > kSeconds / 4) return std::max<size_t>(1, static_cast<size_t>(double(n) * kSeconds / s));
    n *= 2;
  }
}

}  // namespace

std::string_view class_name(ActivationClass c) {
  switch (c) {
    case ActivationClass::f32:
      return "f32";
    case ActivationClass::a16:
      return "a16";
    case ActivationClass::a8:
      return "a8";
    case ActivationClass::a8k:
      return "a8k";
  }
  return "";
}

void MachineLimits::raise_to(const MachineLimits& other) {
  if (!read.empty()) read.back().gb_s = std::max(read.back().gb_s, other.read_gb_s());
  for (size_t c = 0; c < kActivationClasses; ++c) {
    all_threads[c] = std::max(all_threads[c], other.all_threads[c]);
  }
}

std::string describe(const MachineLimits& limits, std::string_view isa) {
  std::string text = "limits: reading";
  for (const auto& [n_threads, gb_s] : limits.read) {
    text +=
        fmt::format("{} {:.1f} GB/s with {} {}", n_threads == limits.read[0].n_threads ? "" : ",",
                    gb_s, n_threads, n_threads == 1 ? "thread" : "threads");
  }
  text += fmt::format(";\n{} multiply-adds, 1 and {} threads, GMAC/s:", isa, limits.n_threads);
  for (size_t c = 0; c < kActivationClasses; ++c) {
    text += fmt::format("{} {} {:.0f} {:.0f}", c == 0 ? "" : ",",
                        class_name(static_cast<ActivationClass>(c)), limits.one_thread[c],
                        limits.all_threads[c]);
  }
  return text + "\n";
}

LimitMeter::LimitMeter(const Kernels& kernels, size_t n_threads, size_t memory_bytes)
    : kernels_(kernels), pool_(n_threads), memory_(round_up(memory_bytes, kPiece)) {
  pool_.parallel_for(memory_.size() / kPiece, 1, [&](size_t begin, size_t end, size_t) {
    std::memset(memory_.data() + begin * kPiece, 1, (end - begin) * kPiece);
  });
  measure_all();
}

// Eight times the last-level cache, as far as the system knows it.
size_t LimitMeter::beyond_caches() {
  constexpr size_t kLeast = size_t{256} << 20, kMost = size_t{1} << 30;
  long cache = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
  cache = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
  return std::clamp(8 * static_cast<size_t>(std::max(cache, 0L)), kLeast, kMost);
}

const MachineLimits& LimitMeter::current() {
  if (Clock::now() - measured_at_ > kStaysTrue) refresh();
  return limits_;
}

void LimitMeter::measure_all() {
  limits_.n_threads = pool_.size();
  for (size_t n = 1; n < pool_.size(); n *= 2) {
    ThreadPool fewer(n);
    limits_.read.push_back({n, read_rate(fewer)});
    if (n > 1) continue;
    for (size_t c = 0; c < kActivationClasses; ++c) limits_.one_thread[c] = mac_rate(fewer, c);
  }
  limits_.read.push_back({pool_.size(), 0});
  refresh();
  if (pool_.size() == 1) limits_.one_thread = limits_.all_threads;
}

void LimitMeter::refresh() {
  limits_.read.back().gb_s = read_rate(pool_);
  for (size_t c = 0; c < kActivationClasses; ++c) limits_.all_threads[c] = mac_rate(pool_, c);
  measured_at_ = Clock::now();
}

// Half of the passes prefetch as products do, half leave that to the hardware: which of the two is
// faster differs between machines.
double LimitMeter::read_rate(ThreadPool& pool) const {
  constexpr size_t kAhead = 8192;
  std::atomic<uint32_t> sum{0};  // somebody has to want what was read
  double best_s = 1e9;
  for (int pass = 0; pass < kPasses; ++pass) {
    const size_t ahead = pass % 2 == 0 ? 0 : kAhead;
    const auto start = Clock::now();
    pool.parallel_for(memory_.size() / kPiece, 1, [&](size_t begin, size_t end, size_t) {
      sum += kernels_.limits.read(memory_.data() + begin * kPiece, (end - begin) * kPiece, ahead);
    });
    best_s = std::min(best_s, seconds_since(start));
  }
  return static_cast<double>(memory_.size()) / best_s / 1e9;
}

double LimitMeter::mac_rate(ThreadPool& pool, size_t class_i) const {
  constexpr size_t kPiecesPerThread = 16;
  const auto multiply_adds = kernels_.limits.multiply_adds[class_i];
  const size_t n_rounds = rounds_of_a_piece(multiply_adds);
  double best = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    std::atomic<uint64_t> count{0};
    const auto start = Clock::now();
    pool.parallel_for(pool.size() * kPiecesPerThread, 1, [&](size_t begin, size_t end, size_t) {
      count += multiply_adds((end - begin) * n_rounds);
    });
    best = std::max(best, static_cast<double>(count) / seconds_since(start) / 1e9);
  }
  return best;
}

}  // namespace maglio::app

#include "base/thread_pool.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

#include "base/cpu_count.h"
#include "base/float_environment.h"

namespace maglio {
namespace {

using Clock = std::chrono::steady_clock;

// Longer than the gaps inside a token (sampling included), short enough not to be seen in a
// process list. Beyond it a wake-up costs a system call, some 10 us.
constexpr std::chrono::microseconds kSpin{200};
// With more threads than CPUs: a few looks, then the CPU is handed on.
constexpr std::chrono::microseconds kCrowdedSpin{2};
constexpr int kPausesPerLook = 32;  // between two readings of the clock

constexpr uint32_t kClosed = 0xffffffff;  // a chunk number that says: nothing to grab

constexpr uint64_t ticket(uint32_t epoch, uint32_t chunk) {
  return (uint64_t{epoch} << 32) | chunk;
}
constexpr uint32_t epoch_of(uint64_t t) {
  return static_cast<uint32_t>(t >> 32);
}
constexpr uint32_t chunk_of(uint64_t t) {
  return static_cast<uint32_t>(t);
}

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Looks at ready() until it holds or the time is over; returns whether it held.
template <class Ready>
bool spin_until(std::chrono::microseconds limit, const Ready& ready) {
  const auto end = Clock::now() + limit;
  do {
    for (int i = 0; i < kPausesPerLook; ++i) {
      if (ready()) return true;
      pause();
    }
  } while (Clock::now() < end);
  return ready();
}

}  // namespace

ThreadPool::ThreadPool(size_t n_threads)
    : ticket_(ticket(0, kClosed)),
      n_cpus_(usable_cpu_count()),
      spin_(n_threads > n_cpus_ ? kCrowdedSpin : kSpin) {
  for (size_t i = 1; i < n_threads; ++i) {
    workers_.emplace_back([this, i] { work(i); });
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  wake_.fetch_add(1);
  wake_.notify_all();
  workers_.clear();  // joins
}

void ThreadPool::run(Call call, const void* body, size_t n, size_t grain) {
  assert(grain >= 1 && (n - 1) / grain + 1 < kClosed && "chunks are counted in 32 bits");
  const uint64_t before = ticket_.load();
  assert(chunk_of(before) == kClosed && "parallel_for is not reentrant");
  const uint32_t epoch = epoch_of(before) + 1;
  const auto n_chunks = static_cast<uint32_t>((n - 1) / grain + 1);
  call_.store(call, std::memory_order_relaxed);
  body_.store(body, std::memory_order_relaxed);
  n_.store(n, std::memory_order_relaxed);
  grain_.store(grain, std::memory_order_relaxed);
  // Release: who sees this count also sees that the ticket of the last job was closed.
  n_chunks_.store(n_chunks, std::memory_order_release);
  done_.store(0, std::memory_order_relaxed);
  ticket_.store(ticket(epoch, 0));
  // Either we see a parked worker here, or it sees the new ticket before it sleeps (await_job).
  if (const size_t parked = parked_.load(); parked > 0) {
    wake_.fetch_add(1);
    const size_t useful = std::min<size_t>(n_chunks, n_cpus_) - 1;
    for (size_t i = 0; i < std::min(parked, useful); ++i) wake_.notify_one();
  }

  grab_chunks(0);
  const auto all_done = [&] { return done_.load(std::memory_order_acquire) == n_chunks; };
  if (!spin_until(spin_, all_done)) {
    for (uint32_t d = done_.load(); d != n_chunks; d = done_.load()) done_.wait(d);
  }
  // Closed before the fields of the next job are written: see ticket_.
  ticket_.store(ticket(epoch, kClosed));
  if (failed_.load(std::memory_order_relaxed)) {
    failed_.store(false, std::memory_order_relaxed);
    std::rethrow_exception(std::exchange(error_, nullptr));
  }
}

void ThreadPool::work(size_t thread_i) {
  const FloatEnvironment standard;  // a new thread inherits the host program's
  uint32_t epoch = 0;
  while (!stop_.load(std::memory_order_relaxed)) {
    epoch = await_job(epoch);
    grab_chunks(thread_i);
  }
}

// Returns the epoch of a job later than the last one, or the last one when the pool stops.
uint32_t ThreadPool::await_job(uint32_t last_epoch) {
  const auto has_job = [&] {
    return epoch_of(ticket_.load(std::memory_order_acquire)) != last_epoch ||
           stop_.load(std::memory_order_relaxed);
  };
  if (!spin_until(spin_, has_job)) {
    parked_.fetch_add(1);
    const uint32_t seen = wake_.load();
    if (epoch_of(ticket_.load()) == last_epoch && !stop_.load()) wake_.wait(seen);
    parked_.fetch_sub(1);
  }
  return epoch_of(ticket_.load(std::memory_order_acquire));
}

void ThreadPool::grab_chunks(size_t thread_i) {
  uint32_t computed = 0;
  uint64_t t = ticket_.load(std::memory_order_acquire);
  const uint32_t epoch = epoch_of(t);
  const uint32_t n_chunks = n_chunks_.load(std::memory_order_acquire);
  while (epoch_of(t) == epoch && chunk_of(t) < n_chunks) {  // a closed ticket is never below
    if (!ticket_.compare_exchange_weak(t, t + 1, std::memory_order_acq_rel)) continue;
    compute(chunk_of(t), thread_i);
    ++computed;
    t = ticket_.load(std::memory_order_acquire);
  }
  if (computed > 0 && done_.fetch_add(computed) + computed == n_chunks) done_.notify_all();
}

void ThreadPool::compute(size_t chunk, size_t thread_i) {
  if (failed_.load(std::memory_order_relaxed)) return;
  const size_t n = n_.load(std::memory_order_relaxed);
  const size_t grain = grain_.load(std::memory_order_relaxed);
  const size_t begin = chunk * grain;
  try {
    const Call call = call_.load(std::memory_order_relaxed);
    call(body_.load(std::memory_order_relaxed), begin, n - begin < grain ? n : begin + grain,
         thread_i);
  } catch (...) {  // carried to the caller's thread: none may leave a worker
    if (!failed_.exchange(true)) error_ = std::current_exception();
  }
}

}  // namespace maglio

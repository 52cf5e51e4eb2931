// Persistent worker threads and one way to use them: parallel_for.
//
// A job is n items cut into chunks of `grain`. Threads, the caller among them, grab the next chunk
// from a shared counter until none is left, so noise on one core is absorbed by the others, and a
// worker that is late (asleep, or preempted by another program) is not waited for: only grabbed
// chunks have to finish. Which thread computes a chunk is left to chance; results must not depend
// on it, and here they never do, since every output has one owner and one order of operations.
//
// Between jobs the workers spin for a bounded time, for the next matrix product is microseconds
// away, and then park in the kernel: an idle pool uses no CPU.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace maglio {

// Thread-safety: one parallel_for at a time, and none from inside another.
class ThreadPool {
 public:
  // n_threads counts the caller; 0 is taken as 1.
  explicit ThreadPool(size_t n_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  size_t size() const { return workers_.size() + 1; }

  // Calls f(begin, end, thread_i) for ranges of at most `grain` items that together cover [0, n)
  // once; thread_i in [0, size()) names the thread, so that it may own scratch. Returns when all
  // are done; what they wrote is visible to the caller. With one thread, or one chunk, runs
  // inline in ascending order.
  // Requires: grain >= 1, fewer than 2^32 - 1 chunks, and no chunk that waits for another: all may
  // run on one thread.
  // Throws: the first exception of f, after the running chunks; the others are then skipped.
  template <class F>
  void parallel_for(size_t n, size_t grain, F&& f) {
    if (size() == 1 || n <= grain) {
      for (size_t begin = 0; begin < n; begin += grain) {
        f(begin, n - begin < grain ? n : begin + grain, size_t{0});
      }
      return;
    }
    using Body = std::remove_reference_t<F>;
    const auto call = [](const void* body, size_t begin, size_t end, size_t thread_i) {
      (*static_cast<Body*>(const_cast<void*>(body)))(begin, end, thread_i);
    };
    run(call, std::addressof(f), n, grain);
  }

 private:
  using Call = void (*)(const void* body, size_t begin, size_t end, size_t thread_i);

  void run(Call call, const void* body, size_t n, size_t grain);
  void work(size_t thread_i);
  void grab_chunks(size_t thread_i);
  void compute(size_t chunk, size_t thread_i);
  uint32_t await_job(uint32_t last_epoch);

  // (epoch << 32) | next chunk. A grab succeeds only against the epoch it was read with, so a late
  // worker can never take a chunk of a job whose fields it did not see.
  alignas(64) std::atomic<uint64_t> ticket_;
  alignas(64) std::atomic<uint32_t> done_{0};  // chunks finished in this job
  alignas(64) std::atomic<uint32_t> parked_{0};
  std::atomic<uint32_t> wake_{0};  // what parked workers wait on
  std::atomic<bool> stop_{false};

  // The job. Atomics because a late worker may read them while the next job is being written; it
  // then fails to grab and forgets what it read.
  alignas(64) std::atomic<Call> call_{nullptr};
  std::atomic<const void*> body_{nullptr};
  std::atomic<size_t> n_{0};
  std::atomic<size_t> grain_{1};
  std::atomic<uint32_t> n_chunks_{0};
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;  // written by the thread that set failed_

  size_t n_cpus_;  // waking more workers than this is of no use
  std::chrono::microseconds spin_;
  std::vector<std::jthread> workers_;
};

}  // namespace maglio

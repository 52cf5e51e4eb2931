#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/cpu_count.h"
#include "support/cpu_seconds.h"

namespace maglio {
namespace {

TEST(ThreadPool, EveryItemIsVisitedOnce) {
  for (const size_t n_threads : {1, 2, 3, 5, 8}) {
    ThreadPool pool(n_threads);
    EXPECT_EQ(pool.size(), n_threads);
    for (const size_t n : {0, 1, 2, 7, 64, 1000}) {
      for (const size_t grain : {1, 3, 64, 5000}) {
        std::vector<std::atomic<int>> visits(n);
        pool.parallel_for(n, grain, [&](size_t begin, size_t end, size_t thread_i) {
          EXPECT_LT(begin, end);
          EXPECT_LE(end - begin, grain);
          EXPECT_EQ(begin % grain, 0u);
          EXPECT_LT(thread_i, n_threads);
          for (size_t i = begin; i < end; ++i) visits[i].fetch_add(1, std::memory_order_relaxed);
        });
        for (size_t i = 0; i < n; ++i) ASSERT_EQ(visits[i].load(), 1) << n << ' ' << i;
      }
    }
  }
}

TEST(ThreadPool, ManyShortJobsInARowKeepTheirItemsApart) {
  ThreadPool pool(4);
  std::vector<size_t> out(37);
  for (size_t job = 0; job < 20000; ++job) {
    const size_t n = 2 + job % 36;
    pool.parallel_for(n, 1, [&](size_t begin, size_t end, size_t) {
      for (size_t i = begin; i < end; ++i) out[i] = job * 100 + i;  // plain writes: TSan watches
    });
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(out[i], job * 100 + i);
  }
}

TEST(ThreadPool, ZeroThreadsMeansTheCallerAlone) {
  ThreadPool pool(0);
  EXPECT_EQ(pool.size(), 1u);
  const auto caller = std::this_thread::get_id();
  pool.parallel_for(10, 3, [&](size_t, size_t, size_t thread_i) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(thread_i, 0u);
  });
}

TEST(ThreadPool, AThreadNumberIsHeldByOneThreadAtATime) {
  ThreadPool pool(5);
  std::vector<size_t> counters(pool.size());  // plain: two holders would race
  for (int job = 0; job < 300; ++job) {
    pool.parallel_for(64, 1, [&](size_t begin, size_t end, size_t thread_i) {
      counters[thread_i] += end - begin;
    });
  }
  EXPECT_EQ(std::accumulate(counters.begin(), counters.end(), size_t{0}), 300u * 64);
}

// Chunks that wait for each other are no use of a pool, but they show who takes part.
void meet(ThreadPool& pool) {
  std::atomic<size_t> arrived{0};
  pool.parallel_for(pool.size(), 1, [&](size_t, size_t, size_t) {
    arrived.fetch_add(1);
    while (arrived.load() < pool.size()) std::this_thread::yield();
  });
  EXPECT_EQ(arrived.load(), pool.size());
}

TEST(ThreadPool, AllThreadsTakePartSpinningOrParked) {
  ThreadPool pool(usable_cpu_count());
  for (int round = 0; round < 5; ++round) {
    meet(pool);
    meet(pool);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // far beyond the spin
  }
}

TEST(ThreadPool, MoreThreadsThanCpusStillFinishEveryJob) {
  ThreadPool pool(4 * usable_cpu_count());
  for (int round = 0; round < 500; ++round) {
    std::atomic<size_t> sum{0};
    pool.parallel_for(100, 1, [&](size_t begin, size_t end, size_t) { sum += end - begin; });
    ASSERT_EQ(sum.load(), 100u);
  }
}

TEST(ThreadPool, AnExceptionReachesTheCallerAndThePoolGoesOn) {
  for (const size_t n_threads : {1, 4}) {
    ThreadPool pool(n_threads);
    for (int round = 0; round < 50; ++round) {
      EXPECT_THROW(pool.parallel_for(100, 1,
                                     [&](size_t begin, size_t, size_t) {
                                       if (begin % 10 == 3) throw std::runtime_error("no");
                                     }),
                   std::runtime_error);
      std::atomic<size_t> sum{0};
      pool.parallel_for(100, 7, [&](size_t begin, size_t end, size_t) { sum += end - begin; });
      ASSERT_EQ(sum.load(), 100u);
    }
  }
}

TEST(ThreadPool, AnIdlePoolUsesNoCpu) {
  ThreadPool pool(4);
  pool.parallel_for(64, 1, [](size_t, size_t, size_t) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the spin ends
  const double before = test::cpu_seconds();                   // of the whole process
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const double used_ms = 1e3 * (test::cpu_seconds() - before);
  EXPECT_LT(used_ms, 15.0);
}

TEST(ThreadPool, PoolsComeAndGoWithoutWork) {
  for (int i = 0; i < 50; ++i) ThreadPool pool(4);
}

}  // namespace
}  // namespace maglio

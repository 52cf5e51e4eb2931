#include "base/background_workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace maglio {
namespace {

// One worker that is held in its first job until released; the order of the others.
class Held {
 public:
  Held()
      : workers_(1, [this](BackgroundWorkers::Job job, size_t) {
          std::unique_lock lock(mutex_);
          begun_ = true;
          changed_.notify_all();
          changed_.wait(lock, [this] { return released_; });
          done_.push_back(job);
          changed_.notify_all();
        }) {
    workers_.add(0, Urgency::urgent);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return begun_; });
  }
  BackgroundWorkers& workers() { return workers_; }
  std::vector<BackgroundWorkers::Job> release(size_t n) {
    std::unique_lock lock(mutex_);
    released_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return done_.size() >= n; });
    return done_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool begun_ = false, released_ = false;
  std::vector<BackgroundWorkers::Job> done_;
  BackgroundWorkers workers_;
};

using Jobs = std::vector<BackgroundWorkers::Job>;

TEST(BackgroundWorkers, UrgentJobsGoFirstAndEqualsInTheirOrder) {
  Held held;
  for (const BackgroundWorkers::Job job : {11, 12}) held.workers().add(job, Urgency::ahead);
  for (const BackgroundWorkers::Job job : {1, 2}) held.workers().add(job, Urgency::urgent);
  EXPECT_EQ(held.release(5), (Jobs{0, 1, 2, 11, 12}));
}

TEST(BackgroundWorkers, AJobMayBecomeUrgent) {
  Held held;
  for (const BackgroundWorkers::Job job : {11, 12, 13}) held.workers().add(job, Urgency::ahead);
  held.workers().add(1, Urgency::urgent);
  held.workers().hurry(12);
  held.workers().hurry(99);
  EXPECT_EQ(held.release(5), (Jobs{0, 1, 12, 11, 13}));
}

TEST(BackgroundWorkers, JobsThatHaveNotBegunAreTakenBack) {
  Held held;
  for (const BackgroundWorkers::Job job : {1, 2, 3}) held.workers().add(job, Urgency::ahead);
  held.workers().add(5, Urgency::urgent);
  EXPECT_EQ(held.workers().withdraw(3, 3), 2u) << "4 was never there";
  EXPECT_EQ(held.workers().withdraw(0, 2), 1u) << "0 has begun";
  EXPECT_EQ(held.workers().withdraw(0, 2), 0u);
  EXPECT_EQ(held.release(2), (Jobs{0, 2}));
}

// Two workers: one is in an urgent job, the other has nothing to do but the job ahead.
TEST(BackgroundWorkers, AJobAheadWaitsUntilNoUrgentOneIsBeingDone) {
  std::atomic<bool> releases{false}, has_begun{false};
  std::vector<BackgroundWorkers::Job> done;
  std::atomic<size_t> n_done{0};
  std::mutex mutex;
  {
    BackgroundWorkers workers(2, [&](BackgroundWorkers::Job job, size_t) {
      if (job == 1) {
        has_begun = true;
        has_begun.notify_all();
        releases.wait(false);
      }
      const std::scoped_lock lock(mutex);
      done.push_back(job);
      ++n_done;
      n_done.notify_all();
    });
    workers.add(1, Urgency::urgent);
    has_begun.wait(false);
    workers.add(11, Urgency::ahead);
    workers.add(2, Urgency::urgent);  // the other worker does it, after it has passed over 11
    n_done.wait(0);
    EXPECT_EQ(workers.withdraw(11, 1), 1u) << "it has begun beside an urgent job";
    workers.add(12, Urgency::ahead);
    releases = true;
    releases.notify_all();
    for (size_t n = n_done; n < 3; n = n_done) n_done.wait(n);
  }
  EXPECT_EQ(done, (Jobs{2, 1, 12}));
}

TEST(BackgroundWorkers, ManyDoEveryJobOnceOnThreadsOfTheirOwn) {
  constexpr size_t kJobs = 3000;
  std::vector<std::atomic<int>> times(kJobs);
  std::atomic<size_t> n_done{0};
  {
    BackgroundWorkers workers(4, [&](BackgroundWorkers::Job job, size_t worker_i) {
      EXPECT_LT(worker_i, 4u);
      ++times[job];
      if (++n_done == kJobs) n_done.notify_all();
    });
    for (size_t job = 0; job < kJobs; ++job) {
      workers.add(job, job % 3 == 0 ? Urgency::urgent : Urgency::ahead);
    }
    for (size_t n = n_done; n < kJobs; n = n_done) n_done.wait(n);
  }
  for (const auto& n : times) EXPECT_EQ(n, 1);
}

}  // namespace
}  // namespace maglio

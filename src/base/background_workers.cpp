#include "base/background_workers.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace maglio {
namespace {

bool take_out(std::deque<BackgroundWorkers::Job>& jobs, BackgroundWorkers::Job job) {
  const auto found = std::ranges::find(jobs, job);
  if (found == jobs.end()) return false;
  jobs.erase(found);
  return true;
}

}  // namespace

BackgroundWorkers::BackgroundWorkers(size_t n_threads, Work work) : work_(std::move(work)) {
  assert(n_threads >= 1);
  for (size_t i = 0; i < n_threads; ++i) threads_.emplace_back([this, i] { run(i); });
}

BackgroundWorkers::~BackgroundWorkers() {
  const std::scoped_lock lock(mutex_);
  ends_ = true;
  changed_.notify_all();
}

void BackgroundWorkers::add(Job job, Urgency urgency) {
  const std::scoped_lock lock(mutex_);
  (urgency == Urgency::urgent ? urgent_ : ahead_).push_back(job);
  changed_.notify_one();
}

void BackgroundWorkers::hurry(Job job) {
  const std::scoped_lock lock(mutex_);
  if (take_out(ahead_, job)) urgent_.push_back(job);
}

bool BackgroundWorkers::withdraw(Job first, size_t n) {
  const std::scoped_lock lock(mutex_);
  const auto waits = [&](Job job) {
    return std::ranges::find(ahead_, job) != ahead_.end() ||
           std::ranges::find(urgent_, job) != urgent_.end();
  };
  for (Job job = first; job < first + n; ++job) {
    if (!waits(job)) return false;
  }
  for (Job job = first; job < first + n; ++job) {
    if (!take_out(ahead_, job)) take_out(urgent_, job);
  }
  return true;
}

void BackgroundWorkers::run(size_t worker_i) {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !urgent_.empty() || !ahead_.empty(); });
    if (ends_) return;
    std::deque<Job>& jobs = urgent_.empty() ? ahead_ : urgent_;
    const Job job = jobs.front();
    jobs.pop_front();
    lock.unlock();
    work_(job, worker_i);
    lock.lock();
  }
}

}  // namespace maglio

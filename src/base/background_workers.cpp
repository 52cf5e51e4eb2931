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

size_t BackgroundWorkers::withdraw(Job first, size_t n) {
  const std::scoped_lock lock(mutex_);
  size_t n_taken = 0;
  for (Job job = first; job < first + n; ++job) {
    if (take_out(ahead_, job) || take_out(urgent_, job)) ++n_taken;
  }
  return n_taken;
}

std::deque<BackgroundWorkers::Job>* BackgroundWorkers::next_jobs() {
  if (!urgent_.empty()) return &urgent_;
  return n_urgent_ == 0 && !ahead_.empty() ? &ahead_ : nullptr;
}

void BackgroundWorkers::run(size_t worker_i) {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || next_jobs() != nullptr; });
    if (ends_) return;
    std::deque<Job>& jobs = *next_jobs();
    const bool is_urgent = &jobs == &urgent_;
    const Job job = jobs.front();
    jobs.pop_front();
    if (is_urgent) ++n_urgent_;
    lock.unlock();
    work_(job, worker_i);
    lock.lock();
    if (is_urgent && --n_urgent_ == 0) changed_.notify_all();
  }
}

}  // namespace maglio

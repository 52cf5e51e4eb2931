// Threads that do small jobs behind the back of the one that computes: reads, above all.
//
// A job is a number that its owner can read. Jobs that are only expected to be needed begin when no
// urgent one waits or is being done: they are for time that nobody else has a use for. Among equals
// the oldest is first. What has not begun can be made urgent, or taken back.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace maglio {

enum class Urgency : uint8_t { urgent, ahead };

// Thread-safe. The destructor forgets jobs that have not begun and waits for those that have.
class BackgroundWorkers {
 public:
  using Job = uint64_t;
  // Does a job; worker_i in [0, size()) names the thread, so that it may own a buffer.
  // Requires: it throws nothing.
  using Work = std::function<void(Job job, size_t worker_i)>;

  // Requires: n_threads >= 1; what `work` refers to outlives the object.
  BackgroundWorkers(size_t n_threads, Work work);
  ~BackgroundWorkers();
  BackgroundWorkers(const BackgroundWorkers&) = delete;
  BackgroundWorkers& operator=(const BackgroundWorkers&) = delete;

  size_t size() const { return threads_.size(); }

  void add(Job job, Urgency urgency);
  // Makes a job that waits urgent.
  void hurry(Job job);
  // Takes those of n jobs from `first` on back that have not begun. Returns how many.
  size_t withdraw(Job first, size_t n);

 private:
  void run(size_t worker_i);
  // With mutex_ held: the jobs of which the next is to be done; nullptr: of none.
  std::deque<Job>* next_jobs();

  Work work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> urgent_, ahead_;
  size_t n_urgent_ = 0;  // being done
  bool ends_ = false;
  std::vector<std::jthread> threads_;  // last: they begin when all else is there
};

}  // namespace maglio

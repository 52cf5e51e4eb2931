#include "decode/gate.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace maglio {
namespace {

// A gain that is too small to be sure of: chances and times are estimates, and the best of several
// looks better than it is.
constexpr double kLeastGain = 1.05;
// A trial that finds a pass so much cheaper than it was believed to be is followed by another one.
constexpr double kGoodNews = 0.9;

// A guess, and the chance that it comes true with all before it in its draft.
struct Candidate {
  size_t stream_i;
  double chance;
};

// The guesses of all drafts, the likeliest first: so each comes after those before it in its draft.
std::vector<Candidate> rank(std::span<const Draft* const> drafts) {
  std::vector<Candidate> ranked;
  for (size_t i = 0; i < drafts.size(); ++i) {
    double chance = 1;
    for (float step : drafts[i]->chances)
      ranked.push_back({i, chance *= static_cast<double>(step)});
  }
  std::ranges::stable_sort(ranked, std::greater(), &Candidate::chance);
  return ranked;
}

// How many of the ranked guesses make the most tokens a time. time(n_rows).
template <class Time>
size_t best_number(std::span<const Candidate> ranked, size_t n_streams, Time&& time) {
  double tokens = static_cast<double>(n_streams);
  double best_rate = kLeastGain * tokens / time(n_streams);
  size_t best = 0;
  for (size_t n = 1; n <= ranked.size(); ++n) {
    tokens += ranked[n - 1].chance;
    const double rate = tokens / time(n_streams + n);
    if (rate <= best_rate) continue;
    best_rate = rate;
    best = n;
  }
  return best;
}

}  // namespace

Gate::Gate(Clock clock) : clock_(std::move(clock)) {}

Gate::Clock Gate::steady_clock() {
  return
      [] { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()); };
}

std::vector<size_t> Gate::choose(std::span<const Draft* const> drafts) {
  std::vector<size_t> chosen(drafts.size(), 0);
  if (drafts.size() >= StepTimes::kMaxRows) return chosen;
  std::vector<Candidate> ranked = rank(drafts);
  const size_t room = std::min(kMostGuesses, StepTimes::kMaxRows - drafts.size());
  if (ranked.size() > room) ranked.resize(room);

  size_t n = best_number(ranked, drafts.size(), [&](size_t rows) { return times_.estimate(rows); });
  on_trial_ = false;
  if (n > 0) {
    pause_ = kFirstPause;
    n_idle_ = 0;
  } else if (++n_idle_ >= pause_) {
    n = best_number(ranked, drafts.size(), StepTimes::hopeful);
    on_trial_ = n > 0;
  }
  for (const Candidate& candidate : std::span(ranked).first(n)) ++chosen[candidate.stream_i];
  return chosen;
}

void Gate::stop(size_t n_rows) {
  if (n_rows > StepTimes::kMaxRows) return;
  const double believed = times_.estimate(n_rows);
  times_.measured(n_rows, clock_() - started_);
  if (!on_trial_ || times_.estimate(n_rows) < kGoodNews * believed) return;
  n_idle_ = 0;
  pause_ = std::min(2 * pause_, kLongestPause);
}

}  // namespace maglio

#include "maglio/logit_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "maglio/error.h"

namespace maglio::app {
namespace {

constexpr size_t kBest = 5;

std::vector<size_t> best_ids(std::span<const float> logits) {
  std::vector<size_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), size_t{0});
  const size_t n = std::min(kBest, ids.size());
  std::partial_sort(
      ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(n), ids.end(),
      [&](size_t a, size_t b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; });
  ids.resize(n);
  return ids;
}

}  // namespace

std::vector<float> parse_logits(std::string_view bytes, const std::string& name) {
  if (bytes.size() % sizeof(float) != 0 || bytes.empty()) {
    throw Error(ErrorKind::bad_file, "InvalidLogitsFile",
                fmt::format("{}: expected float32 values, found {} bytes", name, bytes.size()));
  }
  std::vector<float> logits(bytes.size() / sizeof(float));
  std::memcpy(logits.data(), bytes.data(), bytes.size());
  return logits;
}

LogitComparison compare_logits(std::span<const float> logits, std::span<const float> reference) {
  if (logits.size() != reference.size()) {
    throw Error(
        ErrorKind::bad_file, "LogitsShapeMismatch",
        fmt::format("the reference has {} logits, the model {}", reference.size(), logits.size()));
  }
  LogitComparison c;
  double sum_abs = 0, sum_squares = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double difference = std::abs(static_cast<double>(logits[i]) - reference[i]);
    c.max_abs = std::max(c.max_abs, difference);
    sum_abs += difference;
    sum_squares += difference * difference;
  }
  const auto n = static_cast<double>(logits.size());
  c.mean_abs = sum_abs / n;
  c.rms = std::sqrt(sum_squares / n);
  const auto best = best_ids(logits), reference_best = best_ids(reference);
  c.top = best.front();
  c.ref_top = reference_best.front();
  c.aligned = best == reference_best;
  return c;
}

}  // namespace maglio::app

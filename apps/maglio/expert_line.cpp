#include "maglio/expert_line.h"

#include <fmt/format.h>

namespace maglio::app {

std::string expert_line(const ExpertCacheStats& stats) {
  const auto percent = [&](uint64_t part) {
    return stats.asked == 0 ? 0.0
                            : 100.0 * static_cast<double>(part) / static_cast<double>(stats.asked);
  };
  std::string line = fmt::format(
      "experts: {:.1f} % of {} asked for were in memory (pinned {:.1f} %), {:.1f} % on their way; "
      "{} reads, {:.3f} GB; waited {:.2f} s",
      percent(stats.hits), stats.asked, percent(stats.pinned_hits), percent(stats.late),
      stats.reads, static_cast<double>(stats.bytes_read) / 1e9, stats.stall_ms / 1000);
  if (stats.foretellable > 0) {
    line += fmt::format("; lookahead foretold {:.1f} %", 100 * stats.recall());
  }
  return line + fmt::format("; room for {} of {} ({} pinned)", stats.capacity, stats.n_experts,
                            stats.pinned);
}

}  // namespace maglio::app

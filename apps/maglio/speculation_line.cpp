#include "maglio/speculation_line.h"

#include <fmt/format.h>

namespace maglio::app {

std::string speculation_line(const SpeculationStats& stats) {
  std::string sources;
  for (size_t i = 0; i < kDraftSources; ++i) {
    const auto& [drafted, accepted] = stats.sources[i];
    if (drafted == 0) continue;
    sources += fmt::format("{}{} {}/{}", sources.empty() ? " (" : ", ",
                           to_string(static_cast<DraftSource>(i)), accepted, drafted);
  }
  if (!sources.empty()) sources += ")";
  return fmt::format(
      "speculation: {} steps for {} tokens; {} of {} guesses right{}; {} verify, {} plain, {} "
      "gated "
      "off, {} bonus",
      stats.steps(), stats.steps() + stats.accepted(), stats.accepted(), stats.drafted(), sources,
      stats.verify_steps, stats.plain_steps, stats.gated_off, stats.bonus);
}

}  // namespace maglio::app

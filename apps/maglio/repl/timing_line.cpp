#include "maglio/repl/timing_line.h"

#include <fmt/format.h>

#include "maglio/reply_rates.h"

namespace maglio::app {
namespace {

constexpr double kMsPerSecond = 1000;

std::string with_rate(std::string text, double per_second) {
  return per_second > 0 ? fmt::format("{}, {:.1f}/s", text, per_second) : text;
}

}  // namespace

std::string timing_line(const Reply& reply) {
  std::string prompt = fmt::format("{}", reply.prompt_tokens - reply.cached_tokens);
  if (reply.cached_tokens > 0) prompt += fmt::format(" + {} reused", reply.cached_tokens);
  return fmt::format("tokens: {} · first {:.2f} s · {} · all {:.2f} s",
                     with_rate(std::move(prompt), prompt_rate(reply)),
                     reply.prompt_ms / kMsPerSecond,
                     with_rate(fmt::format("answer {}", reply.ids.size()), generation_rate(reply)),
                     (reply.prompt_ms + reply.generation_ms) / kMsPerSecond);
}

}  // namespace maglio::app

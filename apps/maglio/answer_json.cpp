#include "maglio/answer_json.h"

#include <boost/json.hpp>

namespace maglio::app {
namespace {

namespace json = boost::json;

// Tokens per second; 0 where nothing took any time.
double rate(size_t n_tokens, double ms) {
  return ms > 0 ? static_cast<double>(n_tokens) * 1000 / ms : 0;
}

json::object speculation_json(const SpeculationStats& stats) {
  json::object sources;
  for (size_t i = 0; i < kDraftSources; ++i) {
    const auto& [drafted, accepted] = stats.sources[i];
    sources[to_string(static_cast<DraftSource>(i))] =
        json::object{{"drafted", drafted}, {"accepted", accepted}};
  }
  return {{"steps", stats.steps()},
          {"verify_steps", stats.verify_steps},
          {"plain_steps", stats.plain_steps},
          {"gated_off", stats.gated_off},
          {"drafted", stats.drafted()},
          {"accepted", stats.accepted()},
          {"bonus", stats.bonus},
          {"sources", std::move(sources)}};
}

}  // namespace

std::string answer_json(const AnswerReport& report) {
  const Reply& reply = report.reply;
  json::object out;
  out["text"] = reply.text;
  out["ids"] = json::array(reply.ids.begin(), reply.ids.end());
  out["finish_reason"] = to_string(reply.finish);
  out["stop_sequence"] = nullptr;
  if (reply.stop_string) out["stop_sequence"] = report.stop_strings[*reply.stop_string];
  out["prompt_tokens"] = reply.prompt_tokens;
  out["cached_tokens"] = reply.cached_tokens;
  out["generated_tokens"] = reply.ids.size();
  out["seed"] = report.seed;
  // The prompt's time ends with the first token, so the others are what generation took.
  const size_t n_later = reply.ids.empty() ? 0 : reply.ids.size() - 1;
  out["timings"] = json::object{
      {"load_ms", report.load_ms},
      {"prompt_ms", reply.prompt_ms},
      {"gen_ms", reply.generation_ms},
      {"prompt_per_second", rate(reply.prompt_tokens - reply.cached_tokens, reply.prompt_ms)},
      {"gen_per_second", rate(n_later, reply.generation_ms)}};
  if (reply.speculation) out["speculation"] = speculation_json(*reply.speculation);
  return json::serialize(out);
}

}  // namespace maglio::app

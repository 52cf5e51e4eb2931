#include "maglio/answer_json.h"

#include <boost/json.hpp>

#include "maglio/reply_rates.h"

namespace maglio::app {
namespace {

namespace json = boost::json;

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

json::object experts_json(const ExpertCacheStats& stats) {
  return {{"capacity_bytes", stats.capacity_bytes},
          {"capacity", stats.capacity},
          {"n_experts", stats.n_experts},
          {"pinned", stats.pinned},
          {"asked", stats.asked},
          {"hits", stats.hits},
          {"pinned_hits", stats.pinned_hits},
          {"late", stats.late},
          {"hit_rate", stats.hit_rate()},
          {"reads", stats.reads},
          {"bytes_read", stats.bytes_read},
          {"stall_ms", stats.stall_ms},
          {"foretold", stats.foretold},
          {"foretold_asked", stats.foretold_asked},
          {"foretellable", stats.foretellable},
          {"read_ahead", stats.read_ahead},
          {"read_ahead_asked", stats.read_ahead_asked},
          {"lookahead_recall", stats.recall()}};
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
  out["timings"] = json::object{{"load_ms", report.load_ms},
                                {"prompt_ms", reply.prompt_ms},
                                {"gen_ms", reply.generation_ms},
                                {"prompt_per_second", prompt_rate(reply)},
                                {"gen_per_second", generation_rate(reply)}};
  if (reply.speculation) out["speculation"] = speculation_json(*reply.speculation);
  if (report.experts) out["experts"] = experts_json(*report.experts);
  return json::serialize(out);
}

std::string error_json(const Error& error) {
  return json::serialize(
      json::object{{"error", json::object{{"code", error.code()}, {"message", error.message()}}}});
}

}  // namespace maglio::app

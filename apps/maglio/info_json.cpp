#include "maglio/info_json.h"

#include <boost/json.hpp>

#include "base/escaped.h"
#include "gguf/reader.h"
#include "kernels/registry.h"
#include "maglio/error.h"
#include "maglio/memory_report.h"
#include "model/config.h"
#include "model/memory_plan.h"

namespace maglio::app {
namespace {

namespace json = boost::json;

template <class T>
json::value or_null(const std::optional<T>& value) {
  return value ? json::value(*value) : json::value(nullptr);
}

json::object weights_json(const ModelSizes::Weights& weights) {
  return {{"packed", weights.packed}, {"in_file", weights.in_file}};
}

json::object plan_json(const MemoryPlan& plan, bool is_mixture) {
  const auto name = [](WeightStorage storage) {
    return storage == WeightStorage::packed ? "packed" : "mmap";
  };
  json::object out{{"weights", name(plan.weights)},
                   {"cache_type", cache_name(plan.cache)},
                   {"context", plan.context},
                   {"weight_bytes", plan.weight_bytes},
                   {"kv_bytes", plan.kv_bytes}};
  if (is_mixture) out["experts"] = name(plan.experts);
  if (plan.expert_cache_bytes > 0) {
    out["experts"] = "disk";
    out["expert_cache_bytes"] = plan.expert_cache_bytes;
  }
  if (plan.context > 0) out["flags"] = flags_of(plan, is_mixture);
  return out;
}

void add_memory(json::object& out, const ModelSizes& sizes, std::optional<uint64_t> available) {
  const bool is_mixture = sizes.is_mixture();
  json::object weights{{"rest", weights_json(sizes.rest)}};
  if (is_mixture) weights["experts"] = weights_json(sizes.experts);
  out["context_length"] = sizes.n_ctx;
  out["weights"] = std::move(weights);
  const json::value q8_0 =
      sizes.q8_0_position > 0 ? json::value(sizes.q8_0_position) : json::value(nullptr);
  out["kv_bytes_per_position"] = json::object{{"f16", sizes.f16_position}, {"q8_0", q8_0}};
  out["available_bytes"] = or_null(available);
  json::array plans;
  std::optional<MemoryPlan> fit;
  if (available) {
    for (const MemoryPlan& plan : memory_plans(sizes, *available)) {
      plans.push_back(plan_json(plan, is_mixture));
    }
    fit = fit_memory(sizes, *available);
  }
  out["plans"] = std::move(plans);
  out["fit"] = fit ? json::value(plan_json(*fit, is_mixture)) : json::value(nullptr);
}

}  // namespace

std::string info_json(const gguf::File& file, std::optional<uint64_t> available) {
  const auto architecture = file.metadata().string("general.architecture");
  json::object out{{"file_bytes", file.n_bytes()}, {"n_tensors", file.tensors().size()}};
  out["architecture"] = architecture ? json::value(escaped(*architecture)) : json::value(nullptr);
  try {
    const Config config = Config::from_gguf(file);
    add_memory(out, sizes_of(file, config, active_kernels()), available);
  } catch (const Error& error) {
    out["cannot_run"] = error.message();
  }
  return json::serialize(out);
}

}  // namespace maglio::app

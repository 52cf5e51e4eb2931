#include "maglio/memory_report.h"

#include <fmt/format.h>

#include "base/available_memory.h"
#include "gguf/reader.h"
#include "kernels/registry.h"
#include "maglio/byte_text.h"
#include "maglio/error.h"
#include "model/config.h"

namespace maglio::app {
namespace {

std::string bytes_text(uint64_t bytes) {
  return sized(static_cast<double>(bytes));
}

// How weights are kept, as flags; empty: all packed in memory.
std::string storage_flags(const MemoryPlan& plan, bool is_mixture) {
  if (plan.weights == WeightStorage::mapped) return "--no-repack";
  if (!is_mixture) return "";
  if (plan.expert_cache_bytes > 0) {
    return fmt::format("--expert-cache {}MB", plan.expert_cache_bytes >> 20);
  }
  return plan.experts == WeightStorage::packed ? "--experts packed" : "--experts mmap";
}

}  // namespace

std::string_view cache_name(CacheType type) {
  return type == CacheType::f16 ? "f16" : "q8_0";
}

std::string flags_of(const MemoryPlan& plan, bool is_mixture) {
  const std::string storage = storage_flags(plan, is_mixture);
  return fmt::format("--ctx {} --cache-type {}{}{}", plan.context, cache_name(plan.cache),
                     storage.empty() ? "" : " ", storage);
}

std::string memory_text(const ModelSizes& sizes, std::optional<uint64_t> available) {
  std::string text = "\nweights    packed in memory, in the file\n";
  const auto line = [&](std::string_view name, uint64_t packed, uint64_t in_file) {
    text += fmt::format("  {:<7}  {:>10}  {:>10}\n", name, bytes_text(packed), bytes_text(in_file));
  };
  if (sizes.is_mixture()) {
    line("experts", sizes.experts.packed, sizes.experts.in_file);
    line("rest", sizes.rest.packed, sizes.rest.in_file);
  }
  line("all", sizes.experts.packed + sizes.rest.packed, sizes.experts.in_file + sizes.rest.in_file);
  if (!available) return text + "\nmemory     this system does not say how much is available\n";

  text += fmt::format("\nmemory     {} available; what fits: cache, context, memory it takes\n",
                      bytes_text(*available));
  for (const MemoryPlan& plan : memory_plans(sizes, *available)) {
    const std::string flags = storage_flags(plan, sizes.is_mixture());
    text +=
        fmt::format("  {:<22}  {:<4}  ", flags.empty() ? "packed" : flags, cache_name(plan.cache));
    text += plan.context == 0
                ? fmt::format("{:>10}\n", "none")
                : fmt::format("{:>10}  {:>10}\n", grouped(plan.context), bytes_text(plan.bytes()));
  }
  const std::optional<MemoryPlan> best = fit_memory(sizes, *available);
  return text + fmt::format("  --fit chooses {}\n",
                            best ? flags_of(*best, sizes.is_mixture()) : "nothing: no way fits");
}

Fitted fit_or_fail(const ModelSizes& sizes,
                   std::optional<uint64_t> available,
                   const MemoryWishes& wishes) {
  if (!available) {
    throw Error(ErrorKind::unsupported, "MemoryUnknown",
                "--fit: this system does not say how much memory is available; choose --ctx, "
                "--cache-type and --experts yourself");
  }
  const std::optional<MemoryPlan> plan = fit_memory(sizes, *available, wishes);
  if (!plan) {
    throw Error(ErrorKind::bad_request, "DoesNotFit",
                fmt::format("--fit: expected a way to run this model in the {} that are available, "
                            "found none with what is asked for: a position takes {} in an f16 "
                            "cache, packed weights take {}; ask for less context, a q8_0 cache or "
                            "weights in the file, or leave it to --fit",
                            bytes_text(*available), bytes_text(sizes.f16_position),
                            bytes_text(sizes.rest.packed + sizes.experts.packed)));
  }
  return {*plan, sizes.is_mixture(),
          fmt::format("--fit: {}: {} of weights in memory and {} of keys and values of {} "
                      "that are available",
                      flags_of(*plan, sizes.is_mixture()), bytes_text(plan->weight_bytes),
                      bytes_text(plan->kv_bytes), bytes_text(*available))};
}

Fitted fit_model(const std::filesystem::path& model,
                 MemoryWishes wishes,
                 const LoadOptions& options) {
  const gguf::File file = gguf::File::open(model);
  const Kernels& kernels = options.isa.empty() ? active_kernels() : *find_kernels(options.isa);
  wishes.weights = options.weights;
  wishes.experts = options.experts;
  return fit_or_fail(sizes_of(file, Config::from_gguf(file), kernels), available_memory(), wishes);
}

}  // namespace maglio::app

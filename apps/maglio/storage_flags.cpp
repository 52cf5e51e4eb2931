#include "maglio/storage_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "maglio/number_checks.h"

namespace maglio::app {

void StorageFlags::add_to(CLI::App& command,
                          const std::string& group,
                          const std::string& fit_help) {
  command.add_flag("--fit", fit, fit_help)->group(group);
  command
      .add_flag("--no-repack", no_repack,
                "Run from the mapped file instead of a packed copy in memory: slower, for models "
                "larger than memory (chosen by itself where the copy would not fit)")
      ->group(group);
  command
      .add_option("--experts", experts,
                  "A mixture's experts: packed in memory, or read from the mapped file; the same "
                  "bits. auto: packed where there is room")
      ->check(CLI::IsMember({"auto", "packed", "mmap"}))
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--expert-top-p", expert_top_p,
                  "A token uses the fewest of its chosen experts whose weights reach this share; "
                  "below 1, quality is traded for speed")
      ->check(real_number(0, 1e6))
      ->capture_default_str()
      ->group(group);
  command
      .add_flag("--pack-cache", pack_cache,
                "Keep packed weights in a file beside the model, or in the folder of "
                "--pack-cache=FOLDER: the next start takes them from there")
      ->group(group);
  streaming.add_to(command);
}

bool StorageFlags::packs_into_a_file() const {
  return !pack_cache.empty() && pack_cache != "false" && pack_cache != "0";
}

void StorageFlags::check() const {
  const auto refuse = [](std::string_view a, std::string_view b, std::string_view why) {
    throw CLI::ValidationError(fmt::format("{} and {} exclude each other: {}", a, b, why));
  };
  if (fit && packs_into_a_file()) {
    refuse("--fit", "--pack-cache", "weights packed in a file take no memory of their own");
  }
  if (no_repack && packs_into_a_file()) {
    refuse("--no-repack", "--pack-cache", "nothing is packed");
  }
  if (no_repack && experts == "packed") {
    refuse("--no-repack", "--experts packed", "experts are packed only beside packed weights");
  }
  if (streaming.cache_bytes && experts != "auto") {
    refuse("--expert-cache", "--experts", "experts on disk are neither packed at once nor mapped");
  }
  if (streaming.cache_bytes && fit) {
    refuse("--expert-cache", "--fit", "the size is what --fit chooses");
  }
  if (streaming.no_learning && streaming.pin_bytes.value_or(0) > 0) {
    refuse("--expert-pin", "--no-expert-learning", "pinned are the experts of earlier runs");
  }
  const std::string& detail = streaming.given_detail;
  if (!detail.empty() && !streaming.cache_bytes && !fit) {
    throw CLI::ValidationError(
        fmt::format("{}: expected --expert-cache or --fit beside it, for it says how experts are "
                    "read from disk",
                    detail));
  }
}

void StorageFlags::put_into(LoadOptions& options) const {
  if (no_repack) options.weights = WeightStorage::mapped;
  if (fitted_weights) options.weights = *fitted_weights;
  if (experts == "packed") options.experts = WeightStorage::packed;
  if (experts == "mmap") options.experts = WeightStorage::mapped;
  options.expert_top_p = expert_top_p;
  options.expert_cache = streaming.options();
  if (!packs_into_a_file()) return;
  const bool beside_the_model = pack_cache == "true" || pack_cache == "1";
  options.pack_cache = beside_the_model ? "" : pack_cache;
}

void StorageFlags::adopt(const Fitted& fitted) {
  fitted_weights = fitted.plan.weights;
  if (fitted.plan.expert_cache_bytes > 0) {
    experts = "auto";
    streaming.cache_bytes = fitted.plan.expert_cache_bytes;
  } else if (fitted.is_mixture) {
    experts = fitted.plan.experts == WeightStorage::mapped ? "mmap" : "packed";
  }
}

std::string StorageFlags::unused_note() const {
  const std::string& detail = streaming.given_detail;
  if (detail.empty() || streaming.cache_bytes) return "";
  return fmt::format("; no experts are read from disk: {} changes nothing", detail);
}

}  // namespace maglio::app

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

void StorageFlags::check() const {
  if (fit && !pack_cache.empty()) {
    throw CLI::ValidationError(
        "--fit and --pack-cache exclude each other: weights packed in a file take no memory of "
        "their own");
  }
  if (streaming.options() && (experts != "auto" || fit)) {
    throw CLI::ValidationError(
        fmt::format("--expert-cache and {} exclude each other", fit ? "--fit" : "--experts"));
  }
}

void StorageFlags::put_into(LoadOptions& options) const {
  if (no_repack) options.weights = WeightStorage::mapped;
  if (experts == "packed") options.experts = WeightStorage::packed;
  if (experts == "mmap") options.experts = WeightStorage::mapped;
  options.expert_top_p = expert_top_p;
  options.expert_cache = streaming.options();
  if (pack_cache == "true" || pack_cache == "1") {
    options.pack_cache = "";
  } else if (!pack_cache.empty() && pack_cache != "false" && pack_cache != "0") {
    options.pack_cache = pack_cache;
  }
}

}  // namespace maglio::app

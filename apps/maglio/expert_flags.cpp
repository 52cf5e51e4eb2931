#include "maglio/expert_flags.h"

#include <CLI/CLI.hpp>

#include "maglio/byte_size.h"
#include "maglio/number_checks.h"

namespace maglio::app {

void ExpertFlags::add_to(CLI::App& command) {
  const std::string group = "Experts on disk (mixtures larger than memory; docs/experts.md)";
  command
      .add_option("--expert-cache", cache_bytes,
                  "Read experts from the file when tokens need them, into BYTES of memory (as 4GB, "
                  "800MB): the same bits. The flags below are for it, or for the one --fit chooses")
      ->transform(byte_size())
      ->group(group);
  const auto add = [&](CLI::Option* option) {
    option->group(group)->each(
        [this, name = option->get_name()](const std::string&) { given_detail = name; });
  };
  add(command
          .add_option("--expert-pin", pin_bytes,
                      "Of these, for experts that earlier runs used most and that stay; 0: none "
                      "[half]")
          ->transform(byte_size()));
  add(command
          .add_option("--expert-eviction", eviction,
                      "Who gives way: frequency (chosen most seldom of late), or lru")
          ->check(CLI::IsMember({"frequency", "lru"}))
          ->capture_default_str());
  add(command.add_flag("--no-expert-lookahead", no_lookahead,
                       "Do not read ahead what the next layer will probably ask for"));
  add(command.add_flag("--no-expert-learning", no_learning,
                       "Neither use nor keep MODEL.experts, which counts how often each was used"));
  add(command.add_option("--expert-io-threads", io_threads, "Reads at the same time")
          ->check(whole_number(1, 256))
          ->capture_default_str());
  add(command
          .add_option("--expert-reads", reads,
                      "direct: past the system's cache of files; or buffered, through it")
          ->check(CLI::IsMember({"direct", "buffered"}))
          ->capture_default_str());
}

std::optional<ExpertCacheOptions> ExpertFlags::options() const {
  if (!cache_bytes) return std::nullopt;
  return ExpertCacheOptions{
      .bytes = *cache_bytes,
      .pinned_bytes = pin_bytes,
      .eviction = eviction == "lru" ? ExpertEviction::least_recent : ExpertEviction::frequency,
      .lookahead = !no_lookahead,
      .learn = !no_learning,
      .n_io_threads = io_threads,
      .direct = reads == "direct"};
}

}  // namespace maglio::app

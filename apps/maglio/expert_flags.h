// The flags of mixtures whose experts stay on disk.
#pragma once

#include <optional>
#include <string>

#include "maglio/expert_cache.h"

namespace CLI {
class App;
}

namespace maglio::app {

struct ExpertFlags {
  std::optional<uint64_t> cache_bytes;
  std::optional<uint64_t> pin_bytes;
  std::string eviction = "frequency";
  bool no_lookahead = false;
  bool no_learning = false;
  size_t io_threads = ExpertCacheOptions{}.n_io_threads;
  std::string reads = "direct";
  std::string
      given_detail;  // one of the flags above that say how experts are read, if any was given

  void add_to(CLI::App& command);
  // Nothing: --expert-cache was not given.
  std::optional<ExpertCacheOptions> options() const;
};

}  // namespace maglio::app

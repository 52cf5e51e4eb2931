// The flags that say where a model's weights are while it is in use: the same bits from all.
#pragma once

#include <optional>
#include <string>

#include "maglio/expert_flags.h"
#include "maglio/load_options.h"
#include "maglio/memory_report.h"

namespace CLI {
class App;
}

namespace maglio::app {

struct StorageFlags {
  bool fit = false;
  bool no_repack = false;
  std::string experts = "auto";
  float expert_top_p = LoadOptions{}.expert_top_p;
  std::string pack_cache;  // "true", or a folder
  ExpertFlags streaming;
  std::optional<WeightStorage> fitted_weights;  // what --fit chose

  // fit_help: what --fit chooses.
  void add_to(CLI::App& command, const std::string& group, const std::string& fit_help);
  // Throws: CLI::ValidationError for flags that exclude each other.
  void check() const;
  void put_into(LoadOptions& options) const;
  // As --fit has chosen: what was asked for of experts on disk stays.
  void adopt(const Fitted& fitted);
  // After that, what is to be said where flags for experts on disk have nothing to act on.
  std::string unused_note() const;

 private:
  bool packs_into_a_file() const;
};

}  // namespace maglio::app

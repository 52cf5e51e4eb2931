// How often each expert of a model was chosen, over all its runs: what pins experts at a start.
//
//   byte  0        56
//         [ header ][ a count for each expert of each layer, 64 bits ]
//
// Kept beside the model as "<model>.experts". It is never trusted: a file that belongs to another
// model, is damaged or claims what cannot be is not used. It decides which experts are in memory
// first, never what is computed. Old runs fade: when the counts grow large all are halved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gguf/reader.h"
#include "ops/router.h"

namespace maglio {

// For one thread at a time.
class ExpertHistory {
 public:
  ExpertHistory(uint64_t model, size_t n_layers, size_t n_experts);

  void note(size_t layer_i, std::span<const ExpertDemand> chosen);

  // How often, over earlier runs; [layer, expert].
  std::span<const uint64_t> earlier() const { return earlier_; }
  // Choices in earlier runs.
  uint64_t n_earlier() const;

  // Takes what the file says as earlier runs. Returns why not, where there is a file that is not to
  // be used.
  std::optional<std::string> load(const std::filesystem::path& path);
  // Adds this run's choices to what the file says by now: other processes may have written it. What
  // is saved is not added again. Returns why it could not be written.
  std::optional<std::string> save(const std::filesystem::path& path);

 private:
  struct Header;
  Header header_for(std::span<const uint64_t> counts) const;
  std::string read(const std::filesystem::path& path, std::vector<uint64_t>& counts) const;

  uint64_t model_;
  size_t n_layers_;
  size_t n_experts_;
  std::vector<uint64_t> earlier_;
  std::vector<uint64_t> now_;
};

// Beside the model.
std::filesystem::path expert_history_path(const gguf::File& file);

}  // namespace maglio

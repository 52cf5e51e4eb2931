// A language model, loaded: its weights and its tokenizer in one handle.
//
//   auto model = maglio::Model::load("Qwen3-0.6B-Q8_0.gguf");
//   maglio::Conversation chat(model, {.system = "Be brief."});
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "maglio/load_options.h"
#include "maglio/tokenizer.h"

namespace maglio {

// What a file holds, and what it takes to run it.
struct ModelInfo {
  struct Format {
    std::string name;  // as GGUF spells it
    size_t n_tensors = 0;
    uint64_t bytes = 0;
  };

  std::string name;               // general.name; may be empty
  std::string architecture;       // general.architecture
  std::string chat_template;      // tokenizer.chat_template; may be empty
  std::string tool_use_template;  // tokenizer.chat_template.tool_use: for when tools are offered
  uint64_t n_parameters = 0;      // weights in all tensors
  uint64_t file_bytes = 0;        // of all parts
  // Of the content, by samples (src/model/fingerprint.h), and of the choices at loading that change
  // what is computed: copies of a file agree.
  uint64_t fingerprint = 0;
  std::vector<Format> formats;

  size_t n_layers = 0;
  size_t n_heads = 0;
  size_t n_kv_heads = 0;
  size_t head_dim = 0;
  size_t d_model = 0;
  size_t d_ff = 0;
  size_t vocab_size = 0;
  size_t n_ctx = 0;  // context the model was trained for; 0 where the file is silent

  WeightStorage weights = WeightStorage::packed;  // packed or mapped
  size_t weight_bytes = 0;                        // as packed, or mapped
  std::vector<std::string> load_notes;            // what a user should know of how it was loaded
  size_t kv_bytes_f16 = 0;                        // of keys and values, a position
  size_t kv_bytes_q8_0 = 0;  // the same in a q8_0 cache; 0 where heads do not fit its blocks
  std::string isa;           // instruction set in use
  size_t n_threads = 0;
};

// A handle: cheap to copy, all copies are one model, which ends with the last of them. The model
// computes for one thread at a time; its tokenizer serves any number.
class Model {
 public:
  // Throws: Error bad_file, unsupported or io; the message names the key or tensor.
  static Model load(const std::filesystem::path& path, const LoadOptions& options = {});

  const ModelInfo& info() const;
  const Tokenizer& tokenizer() const;

  // With an expert cache that learns: writes which experts were used to the file beside the
  // model's, as the end of the model does, which cannot say when that fails. Returns why it could
  // not be written; nothing of what the model computes depends on it. Not while it computes.
  std::optional<std::string> keep_expert_history() const;

  // The parts, for the rooms of this library (src/model/model.h).
  struct Parts;
  Parts& parts() const { return *parts_; }

 private:
  explicit Model(std::shared_ptr<Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<Parts> parts_;
};

}  // namespace maglio

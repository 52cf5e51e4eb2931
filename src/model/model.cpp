#include "model/model.h"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "base/checksum.h"
#include "gguf/reader.h"
#include "kernels/kernels.h"
#include "model/fingerprint.h"
#include "model/kv_cache.h"

namespace maglio {
namespace {

std::vector<ModelInfo::Format> count_formats(const gguf::File& file) {
  std::vector<ModelInfo::Format> formats;
  for (const gguf::TensorInfo& tensor : file.tensors()) {
    const std::string_view name = to_string(tensor.dtype);
    auto format = std::ranges::find(formats, name, &ModelInfo::Format::name);
    if (format == formats.end()) {
      formats.push_back({.name = std::string(name)});
      format = formats.end() - 1;
    }
    ++format->n_tensors;
    format->bytes += tensor.data.size();
  }
  std::ranges::sort(formats, std::greater(), &ModelInfo::Format::bytes);
  return formats;
}

// What the file says of itself.
ModelInfo describe(const gguf::File& file) {
  const auto text = [&file](std::string_view key) {
    return std::string(file.metadata().string(key).value_or(""));
  };
  ModelInfo info;
  info.name = text("general.name");
  info.architecture = text("general.architecture");
  info.chat_template = text("tokenizer.chat_template");
  info.tool_use_template = text("tokenizer.chat_template.tool_use");
  info.file_bytes = file.n_bytes();
  info.fingerprint = fingerprint(file, Fingerprint::content);
  info.formats = count_formats(file);
  for (const gguf::TensorInfo& tensor : file.tensors()) info.n_parameters += tensor.n_values();
  return info;
}

// Two models compute the same only when the same choices were made at loading.
uint64_t with_choices(uint64_t fingerprint, const LoadOptions& options) {
  if (options.attn_window == 0 && options.expert_top_p >= 1) return fingerprint;
  const uint64_t choices[2] = {options.attn_window, std::bit_cast<uint32_t>(options.expert_top_p)};
  return checksum(std::as_bytes(std::span(choices)), fingerprint);
}

// What it takes to run it.
void describe(const Transformer& transformer, ModelInfo& info) {
  const Config& c = transformer.config();
  info.n_layers = c.n_layers;
  info.n_heads = c.n_heads;
  info.n_kv_heads = c.n_kv_heads;
  info.head_dim = c.head_dim;
  info.d_model = c.d_model;
  info.d_ff = c.d_ff;
  info.vocab_size = c.vocab_size;
  info.n_ctx = c.n_ctx;
  info.weights = transformer.weight_storage();
  info.weight_bytes = transformer.weight_bytes();
  info.load_notes = transformer.load_notes();
  info.kv_bytes_f16 = transformer.new_cache(0, CacheType::f16).bytes_per_position();
  if (c.head_dim % 32 == 0) {
    info.kv_bytes_q8_0 = transformer.new_cache(0, CacheType::q8_0).bytes_per_position();
  }
  info.isa = transformer.kernels().name;
  info.n_threads = transformer.n_threads();
}

}  // namespace

Model Model::load(const std::filesystem::path& path, const LoadOptions& options) {
  gguf::File file = gguf::File::open(path);
  ModelInfo info = describe(file);
  info.fingerprint = with_choices(info.fingerprint, options);
  Tokenizer tokenizer = Tokenizer::from_gguf(file.metadata());  // copies what it needs
  Transformer transformer = Transformer::load(std::move(file), options);
  describe(transformer, info);
  return Model(std::make_shared<Parts>(
      Parts{std::move(transformer), std::move(tokenizer), std::move(info)}));
}

const ModelInfo& Model::info() const {
  return parts_->info;
}

const Tokenizer& Model::tokenizer() const {
  return parts_->tokenizer;
}

std::optional<std::string> Model::keep_expert_history() const {
  return parts_->transformer.keep_expert_history();
}

}  // namespace maglio

#include "model/config.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "base/escaped.h"
#include "gguf/reader.h"
#include "maglio/error.h"

namespace maglio {
namespace {

// Far above every published model, far below what would exhaust memory before the shapes of the
// tensors are compared with the file.
constexpr size_t kMaxLayers = 1024;
constexpr size_t kMaxHeads = 4096;
constexpr size_t kMaxHeadDim = 4096;
constexpr size_t kMaxWidth = size_t{1} << 24;
constexpr size_t kMaxExperts = 4096;
constexpr size_t kMaxContext = size_t{1} << 32;

// A position turns a pair of channels by at most 1 radian; scaling makes that less. With this much
// play, the angle of every position stays within what sin_cos takes (2^31).
constexpr double kLeastDivisor = 0.5;

// llama.cpp's default: the base of the first Llama files, which do not state it.
constexpr float kLlamaRopeBase = 10000.0f;

// The metadata under the architecture's prefix.
class Keys {
 public:
  Keys(const gguf::Metadata& metadata, std::string_view prefix)
      : metadata_(metadata), prefix_(prefix) {}

  std::optional<size_t> count(std::string_view key, size_t limit) const {
    const std::string name = full(key);
    const std::optional<uint64_t> value = metadata_.uint(name);
    if (!value) return std::nullopt;
    if (*value == 0) fail("MissingMetadata", fmt::format("{} is 0, which counts as missing", name));
    if (*value > limit) {
      fail("InvalidConfig", fmt::format("{} is {}, expected at most {}", name, *value, limit));
    }
    return static_cast<size_t>(*value);
  }

  size_t required_count(std::string_view key, size_t limit) const {
    if (const std::optional<size_t> value = count(key, limit)) return *value;
    fail("MissingMetadata", fmt::format("{} is missing", full(key)));
  }

  // From `least` to below the limit; a NaN is neither.
  std::optional<float> between(std::string_view key, double least, double limit) const {
    const std::optional<float> value = positive(key, limit);
    if (value && static_cast<double>(*value) < least) {
      fail("InvalidConfig", fmt::format("{} is {}, expected at least {} and below {}", full(key),
                                        *value, least, limit));
    }
    return value;
  }

  // Above 0 and below the limit; a NaN is neither.
  std::optional<float> positive(std::string_view key, double limit) const {
    const std::string name = full(key);
    const std::optional<double> value = metadata_.number(name);
    if (!value) return std::nullopt;
    if (*value == 0) fail("MissingMetadata", fmt::format("{} is 0, which counts as missing", name));
    if (!(*value > 0 && *value < limit)) {
      fail("InvalidConfig",
           fmt::format("{} is {}, expected above 0 and below {}", name, *value, limit));
    }
    return static_cast<float>(*value);
  }

  float required_positive(std::string_view key, double limit) const {
    if (const std::optional<float> value = positive(key, limit)) return *value;
    fail("MissingMetadata", fmt::format("{} is missing", full(key)));
  }

  std::optional<std::string_view> text(std::string_view key) const {
    return metadata_.string(full(key));
  }
  std::optional<bool> boolean(std::string_view key) const { return metadata_.boolean(full(key)); }
  std::string full(std::string_view key) const { return fmt::format("{}.{}", prefix_, key); }

  [[noreturn]] void fail(std::string code, const std::string& message) const {
    throw Error(ErrorKind::bad_file, std::move(code),
                fmt::format("{}: {}", metadata_.source(), message));
  }
  [[noreturn]] void refuse(const std::string& message) const {
    throw Error(ErrorKind::unsupported, "UnsupportedVariant",
                fmt::format("{}: {}", metadata_.source(), message));
  }

 private:
  const gguf::Metadata& metadata_;
  std::string_view prefix_;
};

Architecture read_architecture(const gguf::Metadata& metadata, std::string_view name) {
  if (name == "llama") return Architecture::llama;
  if (name == "qwen2") return Architecture::qwen2;
  if (name == "qwen2moe") return Architecture::qwen2moe;
  if (name == "qwen3") return Architecture::qwen3;
  if (name == "qwen3moe") return Architecture::qwen3moe;
  throw Error(ErrorKind::unsupported, "UnsupportedArchitecture",
              fmt::format("{}: general.architecture '{}' is not supported; supported are llama, "
                          "qwen2, qwen2moe, qwen3, qwen3moe",
                          metadata.source(), escaped(name)));
}

bool is_qwen3(const Config& config) {
  return config.architecture == Architecture::qwen3 ||
         config.architecture == Architecture::qwen3moe;
}

bool is_mixture(const Config& config) {
  return config.architecture == Architecture::qwen2moe ||
         config.architecture == Architecture::qwen3moe;
}

void read_heads(const Keys& keys, Config& config) {
  config.n_heads = keys.required_count("attention.head_count", kMaxHeads);
  // Llama files older than grouped-query attention do not state the second count, and neither
  // llama nor qwen2 files the length of a head where it is the usual one. Qwen3's is its own
  // number.
  const bool must_state = is_qwen3(config);
  config.n_kv_heads =
      must_state ? keys.required_count("attention.head_count_kv", kMaxHeads)
                 : keys.count("attention.head_count_kv", kMaxHeads).value_or(config.n_heads);
  if (config.n_heads % config.n_kv_heads != 0) {
    keys.fail("InvalidConfig", fmt::format("{} is {}, expected a divisor of {} ({})",
                                           keys.full("attention.head_count_kv"), config.n_kv_heads,
                                           keys.full("attention.head_count"), config.n_heads));
  }
  const std::optional<size_t> head_dim =
      must_state ? keys.required_count("attention.key_length", kMaxHeadDim)
                 : keys.count("attention.key_length", kMaxHeadDim);
  if (!head_dim && config.d_model % config.n_heads != 0) {
    keys.fail("InvalidConfig", fmt::format("{} is missing, and {} heads do not divide {} ({})",
                                           keys.full("attention.key_length"), config.n_heads,
                                           keys.full("embedding_length"), config.d_model));
  }
  config.head_dim = head_dim.value_or(config.d_model / config.n_heads);
  if (config.head_dim % 2 != 0 || config.head_dim > kMaxHeadDim) {
    keys.fail("InvalidConfig",
              fmt::format("{} is {}, expected an even number up to {}: channels rotate in pairs",
                          keys.full("attention.key_length"), config.head_dim, kMaxHeadDim));
  }
}

// The width inside a feed-forward network, and in a mixture how many of them there are.
void read_feed_forward(const Keys& keys, Config& config) {
  if (!is_mixture(config)) {
    config.d_ff = keys.required_count("feed_forward_length", kMaxWidth);
    return;
  }
  config.d_ff = keys.required_count("expert_feed_forward_length", kMaxWidth);
  config.n_experts = keys.required_count("expert_count", kMaxExperts);
  config.n_experts_used = keys.required_count("expert_used_count", kMaxExperts);
  if (config.n_experts_used > config.n_experts) {
    keys.fail("InvalidConfig",
              fmt::format("{} is {}, expected at most {} ({})", keys.full("expert_used_count"),
                          config.n_experts_used, config.n_experts, keys.full("expert_count")));
  }
  config.normalize_selected =
      keys.boolean("expert_weights_norm").value_or(config.architecture == Architecture::qwen3moe);
  if (config.architecture == Architecture::qwen2moe) {
    // A file may leave it out where it is the dense width, as in llama.cpp.
    const std::optional<size_t> shared = keys.count("expert_shared_feed_forward_length", kMaxWidth);
    config.d_shared = shared ? *shared : keys.required_count("feed_forward_length", kMaxWidth);
  }
}

// Linear scaling divides positions by a factor; the other kinds of scaling would compute something
// else. A file that states a factor but no type means linear, as in llama.cpp.
float read_rope_scale(const Keys& keys) {
  const std::string_view type = keys.text("rope.scaling.type").value_or("linear");
  if (type == "none") return 1;
  if (type != "linear") {
    keys.refuse(fmt::format("{} '{}' is not supported, only linear", keys.full("rope.scaling.type"),
                            escaped(type)));
  }
  const double limit = 1e6;
  if (const auto factor = keys.between("rope.scaling.factor", kLeastDivisor, limit)) return *factor;
  return keys.between("rope.scale_linear", kLeastDivisor, limit).value_or(1.0f);
}

// Keys that change what is computed, in ways that are not implemented: never silently different.
void refuse_variants(const Keys& keys, const Config& config) {
  const auto expect_head_dim = [&](std::string_view key) {
    const std::optional<size_t> value = keys.count(key, kMaxHeadDim);
    if (value && *value != config.head_dim) {
      keys.refuse(fmt::format("{} is {}, only {} (the keys' length) is supported", keys.full(key),
                              *value, config.head_dim));
    }
  };
  expect_head_dim("attention.value_length");
  expect_head_dim("rope.dimension_count");
  if (!keys.boolean("attention.causal").value_or(true)) {
    keys.refuse(fmt::format("{} is false, only causal attention is supported",
                            keys.full("attention.causal")));
  }
  if (config.n_experts == 0 && keys.count("expert_count", SIZE_MAX)) {
    keys.refuse(fmt::format("{} is set: of mixtures, only qwen2moe and qwen3moe are supported",
                            keys.full("expert_count")));
  }
  const std::optional<float> scale = keys.positive("expert_weights_scale", 1e6);
  if (scale && *scale != 1) {
    keys.refuse(
        fmt::format("{} is {}, only 1 is supported", keys.full("expert_weights_scale"), *scale));
  }
  // attention.sliding_window is ignored on purpose: Qwen's configurations carry the number beside
  // use_sliding_window = false.
}

}  // namespace

Config Config::from_gguf(const gguf::File& file) {
  const gguf::Metadata& metadata = file.metadata();
  const std::optional<std::string_view> name = metadata.string("general.architecture");
  if (!name) {
    throw Error(ErrorKind::bad_file, "MissingMetadata",
                fmt::format("{}: general.architecture is missing", metadata.source()));
  }
  Config config;
  config.architecture = read_architecture(metadata, *name);
  const bool is_llama = config.architecture == Architecture::llama;
  config.rope_pairing = is_llama ? RopePairing::interleaved : RopePairing::half;
  config.qk_norm = is_qwen3(config);

  const Keys keys(metadata, *name);
  config.d_model = keys.required_count("embedding_length", kMaxWidth);
  read_feed_forward(keys, config);
  config.n_layers = keys.required_count("block_count", kMaxLayers);
  read_heads(keys, config);
  config.norm_eps = keys.required_positive("attention.layer_norm_rms_epsilon", 1.0);
  const std::optional<float> rope_base = keys.between("rope.freq_base", 1, 1e12);
  config.rope_base = rope_base || is_llama ? rope_base.value_or(kLlamaRopeBase)
                                           : keys.required_positive("rope.freq_base", 1e12);
  config.rope_scale = read_rope_scale(keys);
  config.n_ctx = keys.count("context_length", kMaxContext).value_or(0);
  refuse_variants(keys, config);

  const gguf::TensorInfo& embedding = file.require("token_embd.weight");
  config.vocab_size = embedding.dims.size() == 2 ? embedding.dims[1] : 0;
  if (config.vocab_size == 0 || config.vocab_size > kMaxWidth) {
    keys.fail("InvalidConfig", "token_embd.weight: expected [vocabulary, embed], two dimensions");
  }
  return config;
}

Config Config::qwen3_0_6b() {
  return {
      .architecture = Architecture::qwen3,
      .vocab_size = 151'936,
      .d_model = 1024,
      .d_ff = 3072,
      .n_layers = 28,
      .n_heads = 16,
      .n_kv_heads = 8,
      .head_dim = 128,
      .norm_eps = 1e-6f,
      .rope_base = 1'000'000,
      .n_ctx = 40'960,
      .rope_pairing = RopePairing::half,
      .qk_norm = true,
  };
}

}  // namespace maglio

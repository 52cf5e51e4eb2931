#include "support/synthetic_model.h"

#include <fmt/format.h>

#include <cassert>
#include <cmath>

#include "support/random_blocks.h"

namespace maglio::test {
namespace {

std::string_view architecture_name(Architecture architecture) {
  switch (architecture) {
    case Architecture::llama:
      return "llama";
    case Architecture::qwen2:
      return "qwen2";
    case Architecture::qwen3:
      return "qwen3";
    case Architecture::qwen2moe:
      return "qwen2moe";
    case Architecture::qwen3moe:
      return "qwen3moe";
  }
  return "";
}

void put_config(GgufBuilder& file, const Config& c) {
  const std::string_view name = architecture_name(c.architecture);
  const auto key = [name](std::string_view rest) { return fmt::format("{}.{}", name, rest); };
  const auto n = [](size_t count) { return static_cast<uint32_t>(count); };
  file.string("general.architecture", name)
      .u32(key("block_count"), n(c.n_layers))
      .u32(key("embedding_length"), n(c.d_model))
      .u32(key(c.n_experts == 0 ? "feed_forward_length" : "expert_feed_forward_length"), n(c.d_ff))
      .u32(key("attention.head_count"), n(c.n_heads))
      .u32(key("attention.head_count_kv"), n(c.n_kv_heads))
      .u32(key("attention.key_length"), n(c.head_dim))
      .u32(key("attention.value_length"), n(c.head_dim))
      .f32(key("attention.layer_norm_rms_epsilon"), c.norm_eps)
      .f32(key("rope.freq_base"), c.rope_base);
  if (c.n_experts != 0) {
    file.u32(key("expert_count"), n(c.n_experts))
        .u32(key("expert_used_count"), n(c.n_experts_used));
  }
  if (c.d_shared != 0) file.u32(key("expert_shared_feed_forward_length"), n(c.d_shared));
  if (c.n_ctx != 0) file.u32(key("context_length"), n(c.n_ctx));
  if (c.rope_scale != 1) {
    file.string(key("rope.scaling.type"), "linear").f32(key("rope.scaling.factor"), c.rope_scale);
  }
}

std::string utf8_of_latin(unsigned code) {  // code < 0x800
  if (code < 0x80) return {static_cast<char>(code)};
  return {static_cast<char>(0xc0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3f))};
}

// GPT-2's printable stand-in for each byte.
std::string byte_symbol(unsigned byte) {
  const auto printable = [](unsigned b) {
    return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
  };
  if (printable(byte)) return utf8_of_latin(byte);
  unsigned n = 0;
  for (unsigned b = 0; b < byte; ++b) n += printable(b) ? 0 : 1;
  return utf8_of_latin(256 + n);
}

void put_vocabulary(GgufBuilder& file, size_t vocab_size) {
  constexpr int32_t kNormal = 1, kControl = 3;
  std::vector<std::string> tokens;
  for (unsigned byte = 0; byte < 256; ++byte) tokens.push_back(byte_symbol(byte));
  tokens.push_back("hi");
  std::vector<int32_t> types(tokens.size(), kNormal);
  for (const char* marker : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) {
    tokens.push_back(marker);
    types.push_back(kControl);
  }
  assert(vocab_size >= tokens.size() && "the vocabulary holds all bytes and the markers");
  while (tokens.size() < vocab_size) {
    tokens.push_back(fmt::format("filler{}", tokens.size()));
    types.push_back(kNormal);
  }
  file.string("tokenizer.ggml.model", "gpt2")
      .string("tokenizer.ggml.pre", "qwen2")
      .strings("tokenizer.ggml.tokens", tokens)
      .i32s("tokenizer.ggml.token_type", types)
      .strings("tokenizer.ggml.merges", {"h i"})
      .u32("tokenizer.ggml.eos_token_id", 259);
}

// Adds tensors under their names, each with numbers of its own.
class TensorWriter {
 public:
  TensorWriter(GgufBuilder& file, const SyntheticModel& model)
      : file_(file), model_(model), dice_(model.seed) {}

  void matrix(const std::string& name, size_t n_out, size_t n_in, float spread) {
    DType dtype = model_.format;
    if (model_.format_of) dtype = model_.format_of(name).value_or(dtype);
    put(name, dtype, {n_in, n_out}, random_weights(dtype, n_out * n_in, spread, dice_));
  }
  void projection(const std::string& name, size_t n_out, size_t n_in) {
    matrix(name, n_out, n_in, 1.0f / std::sqrt(static_cast<float>(n_in)));
  }
  // One matrix for each expert.
  void stack(const std::string& name, size_t n_experts, size_t n_out, size_t n_in) {
    DType dtype = model_.format;
    if (model_.format_of) dtype = model_.format_of(name).value_or(dtype);
    const float spread = 1.0f / std::sqrt(static_cast<float>(n_in));
    put(name, dtype, {n_in, n_out, n_experts},
        random_weights(dtype, n_experts * n_out * n_in, spread, dice_));
  }
  // In full precision, as files have it.
  void router(const std::string& name, size_t n_experts, size_t n_in) {
    const float spread = 2.0f / std::sqrt(static_cast<float>(n_in));
    put(name, DType::F32, {n_in, n_experts},
        random_weights(DType::F32, n_experts * n_in, spread, dice_));
  }
  void norm(const std::string& name, size_t n, size_t n_outliers) {
    std::vector<float> weight(n);
    for (float& w : weight) w = 1.0f + 0.3f * dice_.uniform();
    for (size_t i = 0; i < n_outliers; ++i) weight[dice_.bits() % n] *= 50.0f;
    floats(name, weight);
  }
  void bias(const std::string& name, size_t n) {
    std::vector<float> values(n);
    for (float& v : values) v = 0.5f * dice_.uniform();
    floats(name, values);
  }
  void floats(const std::string& name, const std::vector<float>& values) {
    put(name, DType::F32, {values.size()}, float_bytes(values));
  }

 private:
  void put(const std::string& name, DType dtype, const std::vector<uint64_t>& dims, Bytes data) {
    if (name != model_.without) file_.tensor(name, dtype, dims, std::move(data));
  }

  GgufBuilder& file_;
  const SyntheticModel& model_;
  Dice dice_;
};

void put_shared_expert(TensorWriter& put, const Config& c, const std::string& layer) {
  put.bias(layer + "ffn_gate_inp_shexp.weight", c.d_model);
  put.projection(layer + "ffn_gate_shexp.weight", c.d_shared, c.d_model);
  put.projection(layer + "ffn_up_shexp.weight", c.d_shared, c.d_model);
  put.projection(layer + "ffn_down_shexp.weight", c.d_model, c.d_shared);
}

void put_layer(TensorWriter& put, const SyntheticModel& model, const std::string& layer) {
  const Config& c = model.config;
  put.norm(layer + "attn_norm.weight", c.d_model, model.n_outliers);
  put.projection(layer + "attn_q.weight", c.query_width(), c.d_model);
  put.projection(layer + "attn_k.weight", c.key_value_width(), c.d_model);
  put.projection(layer + "attn_v.weight", c.key_value_width(), c.d_model);
  if (model.biases || c.architecture == Architecture::qwen2moe) {
    put.bias(layer + "attn_q.bias", c.query_width());
    put.bias(layer + "attn_k.bias", c.key_value_width());
    put.bias(layer + "attn_v.bias", c.key_value_width());
  }
  if (c.qk_norm) {
    put.norm(layer + "attn_q_norm.weight", c.head_dim, 0);
    put.norm(layer + "attn_k_norm.weight", c.head_dim, 0);
  }
  put.projection(layer + "attn_output.weight", c.d_model, c.query_width());
  put.norm(layer + "ffn_norm.weight", c.d_model, model.n_outliers);
  if (c.n_experts != 0) {
    put.router(layer + "ffn_gate_inp.weight", c.n_experts, c.d_model);
    put.stack(layer + "ffn_gate_exps.weight", c.n_experts, c.d_ff, c.d_model);
    put.stack(layer + "ffn_up_exps.weight", c.n_experts, c.d_ff, c.d_model);
    put.stack(layer + "ffn_down_exps.weight", c.n_experts, c.d_model, c.d_ff);
    if (c.d_shared != 0) put_shared_expert(put, c, layer);
    return;
  }
  put.projection(layer + "ffn_gate.weight", c.d_ff, c.d_model);
  put.projection(layer + "ffn_up.weight", c.d_ff, c.d_model);
  put.projection(layer + "ffn_down.weight", c.d_model, c.d_ff);
}

Config small_config(Architecture architecture) {
  Config c;
  c.architecture = architecture;
  c.vocab_size = 320;
  c.n_layers = 2;
  c.n_heads = 4;
  c.n_kv_heads = 2;
  c.norm_eps = 1e-6f;
  c.rope_base = 10'000;
  c.n_ctx = 8192;
  c.rope_pairing =
      architecture == Architecture::llama ? RopePairing::interleaved : RopePairing::half;
  c.qk_norm = architecture == Architecture::qwen3 || architecture == Architecture::qwen3moe;
  const bool is_qwen2moe = architecture == Architecture::qwen2moe;
  if (is_qwen2moe || architecture == Architecture::qwen3moe) {
    c.n_experts = 8;
    c.n_experts_used = 2;
    c.normalize_selected = !is_qwen2moe;
    c.d_shared = is_qwen2moe ? 256 : 0;
  }
  return c;
}

}  // namespace

GgufBuilder SyntheticModel::builder() const {
  GgufBuilder file;
  put_config(file, config);
  put_vocabulary(file, config.vocab_size);
  TensorWriter put(file, *this);
  put.matrix("token_embd.weight", config.vocab_size, config.d_model, 0.5f);
  for (size_t i = 0; i < config.n_layers; ++i) put_layer(put, *this, fmt::format("blk.{}.", i));
  put.norm("output_norm.weight", config.d_model, 0);
  if (!tied_head) put.projection("output.weight", config.vocab_size, config.d_model);
  if (rope_freqs) {
    std::vector<float> divisors(config.head_dim / 2);
    for (size_t i = 0; i < divisors.size(); ++i)
      divisors[i] = i < divisors.size() / 2 ? 1.0f : 8.0f;
    put.floats("rope_freqs.weight", divisors);
  }
  return file;
}

Config tiny_config(Architecture architecture) {
  Config c = small_config(architecture);
  c.d_model = 128;
  c.d_ff = 256;
  c.head_dim = 32;
  return c;
}

Config tiny_k_config(Architecture architecture) {
  Config c = small_config(architecture);
  c.d_model = 256;
  c.d_ff = 512;
  c.head_dim = 64;
  return c;
}

}  // namespace maglio::test

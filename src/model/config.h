// The nine numbers of a transformer, and the few choices that make one family differ from another.
//
// They come from the metadata of the model file, under the prefix that general.architecture names
// (qwen3.block_count, ...). Every one of them is positive by nature, so a zero that is present
// counts as missing: it can only be a broken file. Variants are data, never subclasses: what
// differs between the architectures is in the fields below, or in which tensors the file has.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/rope_pairing.h"
#include "tensor/axes.h"

namespace maglio {

namespace gguf {
class File;
}

enum class Architecture : uint8_t { llama, qwen2, qwen2moe, qwen3, qwen3moe };

struct Config {
  Architecture architecture = Architecture::qwen3;
  size_t vocab_size = 0;  // rows of token_embd.weight
  size_t d_model = 0;     // embedding_length: the width of the residual stream
  size_t d_ff = 0;        // feed_forward_length; of one expert in a mixture
  size_t n_layers = 0;    // block_count
  size_t n_heads = 0;     // attention.head_count
  size_t n_kv_heads = 0;  // attention.head_count_kv; divides n_heads
  size_t head_dim = 0;    // attention.key_length; its own number, else d_model / n_heads
  float norm_eps = 0;     // attention.layer_norm_rms_epsilon
  float rope_base = 0;    // rope.freq_base; the chapter's rope_theta
  float rope_scale = 1;   // rope.scaling.factor of linear scaling: positions are divided by it
  size_t n_ctx = 0;       // context_length the model was trained for; 0 where the file is silent
  RopePairing rope_pairing = RopePairing::half;
  bool qk_norm = false;  // a norm per head on queries and keys (Qwen3)
  // Mixtures of experts; no experts: one dense feed-forward network a layer.
  size_t n_experts = 0;            // expert_count
  size_t n_experts_used = 0;       // expert_used_count: of a token
  bool normalize_selected = true;  // expert_weights_norm; Qwen3's norm_topk_prob, not Qwen2's
  size_t d_shared = 0;             // expert_shared_feed_forward_length; 0: no shared expert

  // Throws: Error unsupported for an architecture or variant that would compute something else
  // (the message names it), bad_file for a number that is missing, zero or absurd (the message
  // names the key).
  static Config from_gguf(const gguf::File& file);

  // Qwen3-0.6B, as the chapter's section 12.1 writes it out.
  static Config qwen3_0_6b();

  size_t query_width() const { return n_heads * head_dim; }
  size_t key_value_width() const { return n_kv_heads * head_dim; }

  bool operator==(const Config&) const = default;
};

// The length of an axis in a model of this shape.
template <class Axis>
size_t extent_of(const Config& config);
// clang-format off
template <> inline size_t extent_of<Embed>(const Config& c) { return c.d_model; }
template <> inline size_t extent_of<Query>(const Config& c) { return c.query_width(); }
template <> inline size_t extent_of<KeyValue>(const Config& c) { return c.key_value_width(); }
template <> inline size_t extent_of<Dim>(const Config& c) { return c.head_dim; }
template <> inline size_t extent_of<Ff>(const Config& c) { return c.d_ff; }
template <> inline size_t extent_of<SharedFf>(const Config& c) { return c.d_shared; }
template <> inline size_t extent_of<Share>(const Config&) { return 1; }
template <> inline size_t extent_of<Expert>(const Config& c) { return c.n_experts; }
template <> inline size_t extent_of<Vocab>(const Config& c) { return c.vocab_size; }
// clang-format on

}  // namespace maglio

#include "support/successor_model.h"

#include <functional>
#include <vector>

#include "tensor/dtype.h"
#include "text/byte_alphabet.h"

namespace maglio::test {
namespace {

constexpr size_t kVocab = 288, kWidth = 288, kHeadDim = 32, kFf = 32;

void put_vocabulary(GgufBuilder& file) {
  std::vector<std::string> tokens;
  std::vector<int32_t> types(kVocab, 1);
  for (int byte = 0; byte < 256; ++byte) {
    tokens.push_back(spell_bytes(std::string(1, static_cast<char>(byte))));
  }
  for (const char* marker : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) {
    types[tokens.size()] = 3;  // control
    tokens.push_back(marker);
  }
  tokens.insert(tokens.end(), {"<think>", "</think>"});
  while (tokens.size() < kVocab) tokens.push_back("filler" + std::to_string(tokens.size()));
  file.string("tokenizer.ggml.model", "gpt2")
      .string("tokenizer.ggml.pre", "qwen2")
      .strings("tokenizer.ggml.tokens", tokens)
      .i32s("tokenizer.ggml.token_type", types)
      .strings("tokenizer.ggml.merges", {"f i"})
      .u32("tokenizer.ggml.eos_token_id", static_cast<uint32_t>(SuccessorModel::kEndOfText));
}

void put_config(GgufBuilder& file, size_t context_length) {
  file.string("general.architecture", "qwen3")
      .u32("qwen3.block_count", 1)
      .u32("qwen3.context_length", static_cast<uint32_t>(context_length))
      .u32("qwen3.embedding_length", kWidth)
      .u32("qwen3.feed_forward_length", kFf)
      .u32("qwen3.attention.head_count", 1)
      .u32("qwen3.attention.head_count_kv", 1)
      .u32("qwen3.attention.key_length", kHeadDim)
      .u32("qwen3.attention.value_length", kHeadDim)
      .f32("qwen3.attention.layer_norm_rms_epsilon", 1e-6f)
      .f32("qwen3.rope.freq_base", 10000.0f);
}

void put_constant(GgufBuilder& file, const std::string& name, std::vector<uint64_t> dims, float v) {
  size_t n = 1;
  for (uint64_t d : dims) n *= d;
  file.tensor(name, DType::F32, dims, float_bytes(std::vector<float>(n, v)));
}

}  // namespace

const char* const SuccessorModel::kChatMl =
    "{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' + message.content + "
    "'<|im_end|>\\n' }}{%- endfor %}{%- if add_generation_prompt %}{{- "
    "'<|im_start|>assistant\\n' }}{%- endif %}";

SuccessorModel& SuccessorModel::after(TokenId token, TokenId next) {
  successors_[token] = next;
  return *this;
}

SuccessorModel& SuccessorModel::answers(std::string_view text) {
  TokenId last = '\n';
  for (char c : text) {
    const TokenId next = static_cast<unsigned char>(c);
    after(last, next);
    last = next;
  }
  return after(last, kEndOfTurn);
}

SuccessorModel& SuccessorModel::meta(std::function<void(GgufBuilder&)> add) {
  meta_.push_back(std::move(add));
  return *this;
}

void SuccessorModel::write(const std::filesystem::path& path) const {
  GgufBuilder file;
  put_config(file, context_length);
  put_vocabulary(file);
  if (!chat_template.empty()) file.string("tokenizer.chat_template", chat_template);
  for (const auto& add : meta_) add(file);

  std::vector<float> embedding(kVocab * kWidth, 0.0f), head(kVocab * kWidth, 0.0f);
  for (size_t id = 0; id < kVocab; ++id) {
    embedding[id * kWidth + id] = 1;
    const auto known = successors_.find(static_cast<TokenId>(id));
    const TokenId next = known == successors_.end() ? kEndOfTurn : known->second;
    head[static_cast<size_t>(next) * kWidth + id] = 1;  // the norm makes it sqrt(kWidth) = 17
  }
  file.tensor("token_embd.weight", DType::F32, {kWidth, kVocab}, float_bytes(embedding));
  file.tensor("output.weight", DType::F32, {kWidth, kVocab}, float_bytes(head));
  put_constant(file, "output_norm.weight", {kWidth}, 1);
  put_constant(file, "blk.0.attn_norm.weight", {kWidth}, 1);
  put_constant(file, "blk.0.ffn_norm.weight", {kWidth}, 1);
  put_constant(file, "blk.0.attn_q_norm.weight", {kHeadDim}, 1);
  put_constant(file, "blk.0.attn_k_norm.weight", {kHeadDim}, 1);
  put_constant(file, "blk.0.attn_q.weight", {kWidth, kHeadDim}, 0.01f);
  put_constant(file, "blk.0.attn_k.weight", {kWidth, kHeadDim}, 0.01f);
  put_constant(file, "blk.0.attn_v.weight", {kWidth, kHeadDim}, 0.01f);
  put_constant(file, "blk.0.attn_output.weight", {kHeadDim, kWidth}, 0);
  put_constant(file, "blk.0.ffn_gate.weight", {kWidth, kFf}, 0.01f);
  put_constant(file, "blk.0.ffn_up.weight", {kWidth, kFf}, 0.01f);
  put_constant(file, "blk.0.ffn_down.weight", {kFf, kWidth}, 0);
  file.write(path);
}

}  // namespace maglio::test

#include "maglio/bench_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>

#include "gguf/reader.h"

namespace maglio::app {
namespace {

// The matrices of a layer, and whether they work on rows that nobody wants logits of.
struct LayerMatrix {
  const char* name;
  bool before_attention;
};
constexpr LayerMatrix kLayerMatrices[] = {
    {"attn_q", true}, {"attn_k", true}, {"attn_v", true}, {"attn_output", false}};
constexpr LayerMatrix kDense[] = {{"ffn_gate", false}, {"ffn_up", false}, {"ffn_down", false}};
constexpr LayerMatrix kShared[] = {
    {"ffn_gate_shexp", false}, {"ffn_up_shexp", false}, {"ffn_down_shexp", false}};
constexpr LayerMatrix kMixture[] = {{"ffn_gate_inp", false},
                                    {"ffn_gate_exps", false},
                                    {"ffn_up_exps", false},
                                    {"ffn_down_exps", false}};

}  // namespace

uint64_t Work::total_macs() const {
  return std::accumulate(macs.begin(), macs.end(), uint64_t{0});
}

Work& Work::operator+=(const Work& other) {
  for (size_t c = 0; c < macs.size(); ++c) macs[c] += other.macs[c];
  bytes += other.bytes;
  return *this;
}

Work& Work::operator*=(uint64_t n) {
  for (uint64_t& count : macs) count *= n;
  bytes *= n;
  return *this;
}

double seconds_of_macs(const MacCounts& macs, const MachineLimits& limits) {
  double seconds = 0;
  for (size_t c = 0; c < macs.size(); ++c) {
    if (macs[c] == 0 || limits.all_threads[c] <= 0) continue;
    seconds += static_cast<double>(macs[c]) / limits.all_threads[c] / 1e9;
  }
  return seconds;
}

double seconds_of_reading(uint64_t bytes, const MachineLimits& limits) {
  const double gb_s = limits.read_gb_s();
  return gb_s > 0 ? static_cast<double>(bytes) / gb_s / 1e9 : 0;
}

ModelWork::ModelWork(const gguf::File& file,
                     const Config& config,
                     const Kernels& kernels,
                     Bytes bytes)
    : config_(config), bytes_(bytes) {
  const auto count = [&](const std::string& name, MacCounts& rows) {
    const gguf::TensorInfo& tensor = file.require(name);
    const FormatKernels& format = format_kernels(kernels, tensor.dtype);
    const bool is_stack = tensor.dims.size() == 3;
    const uint64_t n_used =
        is_stack ? tensor.n_values() / config.n_experts * config.n_experts_used : tensor.n_values();
    rows[static_cast<size_t>(format.activation)] += n_used;
  };
  const std::span<const LayerMatrix> shared =
      config.d_shared == 0 ? std::span<const LayerMatrix>() : kShared;
  const std::span<const LayerMatrix> network =
      config.n_experts == 0 ? std::span<const LayerMatrix>(kDense) : kMixture;
  for (size_t layer = 0; layer < config.n_layers; ++layer) {
    const bool is_last = layer + 1 == config.n_layers;
    for (const auto matrices : {std::span<const LayerMatrix>(kLayerMatrices), network, shared}) {
      for (const auto& [name, before_attention] : matrices) {
        count(fmt::format("blk.{}.{}.weight", layer, name),
              is_last && !before_attention ? wanted_row_ : every_row_);
      }
    }
  }
  const bool tied = file.find("output.weight") == nullptr;
  count(tied ? "token_embd.weight" : "output.weight", wanted_row_);
}

Work ModelWork::prompt(size_t position, size_t n_rows) const {
  Work work{.macs = every_row_};
  work *= n_rows;
  work += {.macs = wanted_row_};
  work.macs[static_cast<size_t>(ActivationClass::f32)] += attention_macs(position, n_rows);
  return work;
}

Work ModelWork::step(size_t position, size_t n_streams, size_t kv_bytes) const {
  Work work = prompt(position, 1);
  work *= n_streams;
  work.bytes =
      bytes_.all - bytes_.experts + expert_bytes(n_streams) + n_streams * (position + 1) * kv_bytes;
  return work;
}

// Which experts several streams have in common is not known beforehand: as many are counted as
// independent choices make different on the average. Of one stream the count is exact.
uint64_t ModelWork::expert_bytes(size_t n_streams) const {
  if (config_.n_experts == 0) return 0;
  const double used =
      static_cast<double>(config_.n_experts_used) / static_cast<double>(config_.n_experts);
  const double share = 1 - std::pow(1 - used, static_cast<double>(n_streams));
  return static_cast<uint64_t>(std::llround(static_cast<double>(bytes_.experts) * share));
}

uint64_t ModelWork::attention_macs(size_t position, size_t n_rows) const {
  // Row i sees position + i + 1 keys; in the last layer only the last row looks.
  const uint64_t last = position + n_rows;
  const uint64_t pairs = n_rows * (position + 1 + last) / 2;
  return 2 * config_.query_width() * (pairs * (config_.n_layers - 1) + last);
}

Work work_of(const BenchTest& test, const ModelWork& model, size_t kv_bytes) {
  Work work;
  size_t position = test.n_depth;
  for (size_t left = test.n_prompt; left > 0;) {
    const size_t n = std::min(left, test.n_ubatch);
    work += model.prompt(position, n);
    position += n;
    left -= n;
  }
  for (size_t i = 0; i < test.n_gen; ++i) {
    work += model.step(position + i, test.n_streams, kv_bytes);
  }
  return work;
}

}  // namespace maglio::app

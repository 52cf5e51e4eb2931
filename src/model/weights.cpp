#include "model/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/available_memory.h"
#include "base/escaped.h"
#include "base/mapping_advice.h"
#include "base/thread_pool.h"
#include "maglio/error.h"
#include "model/fingerprint.h"
#include "quant/codec.h"

namespace maglio {
namespace {

constexpr std::string_view kEmbedding = "token_embd.weight";
constexpr std::string_view kHead = "output.weight";

// "[1024, 2048]", outermost first as in the messages (the file has them innermost first).
std::string shape_text(const gguf::TensorInfo& tensor) {
  std::string text = "[";
  for (size_t i = tensor.dims.size(); i-- > 0;) {
    text += fmt::format("{}{}", tensor.dims[i], i > 0 ? ", " : "]");
  }
  return text;
}

}  // namespace

// Finds tensors by name, checks them against the axes of the field they go to, and gives them their
// place.
class WeightLoader {
 public:
  WeightLoader(Weights& weights, const Config& config, const Kernels& kernels)
      : weights_(weights),
        config_(config),
        kernels_(kernels),
        used_(weights.file_->tensors().size(), false) {}

  bool has(std::string_view name) const { return weights_.file_->find(name) != nullptr; }

  template <class Out, class In>
  Weight<Out, In> matrix(std::string_view name) {
    return {put(take_matrix<Out, In>(name), weights_.storage_)};
  }

  // A router's numbers are finite: minus infinity would hide an expert from all tokens, and nothing
  // that is computed would tell. Other matrices are not looked through; what they make of a token
  // is.
  Weight<Expert, Embed> router(std::string_view name) {
    const gguf::TensorInfo& tensor = take_matrix<Expert, Embed>(name);
    const size_t row_bytes = tensor.data.size() / config_.n_experts;
    std::vector<float> row(config_.d_model);
    for (size_t i = 0; i < config_.n_experts; ++i) {
      dequantize_row(tensor.dtype, tensor.data.data() + i * row_bytes, row.size(), row.data());
      if (!kernels_.rows.all_finite(row.data(), row.size())) {
        fail("NonFiniteWeight", tensor, "holds NaN or infinity");
      }
    }
    return {put(tensor, weights_.storage_)};
  }

  // The same matrix, as the file stores it.
  template <class Out, class In>
  Weight<Out, In> raw(std::string_view name) {
    return {put(take_matrix<Out, In>(name), WeightStorage::mapped)};
  }

  // A vector, as a matrix of one row where the file has it.
  template <class Out, class In>
  Weight<Out, In> raw_row(std::string_view name) {
    gguf::TensorInfo row = take(name);
    const uint64_t n = extent_of<In>(config_);
    if (row.dims != std::vector<uint64_t>{n} && row.dims != std::vector<uint64_t>{n, 1}) {
      fail("InvalidWeightShape", row,
           fmt::format("expected [{} {}], file has {}", In::name, n, shape_text(row)));
    }
    check_format(row);
    row.dims = {n, 1};
    return {put(row, WeightStorage::mapped)};
  }

  // A tensor [expert, Out, In], found and checked once for all of its experts.
  template <class Out, class In>
  struct ExpertStack {
    const gguf::TensorInfo* tensor;
  };
  template <class Out, class In>
  ExpertStack<Out, In> expert_stack(std::string_view name) {
    return {&take_stack<Out, In>(name)};
  }

  // The matrix of one of them.
  template <class Out, class In>
  Weight<Out, In> expert_matrix(ExpertStack<Out, In> stack, size_t expert) {
    const gguf::TensorInfo& all = *stack.tensor;
    const size_t n_bytes = all.data.size() / config_.n_experts;
    const gguf::TensorInfo one{.name = all.name,
                               .dtype = all.dtype,
                               .dims = {all.dims[0], all.dims[1]},
                               .data = all.data.subspan(expert * n_bytes, n_bytes)};
    const bool mapped = weights_.expert_storage_ == WeightStorage::mapped;
    if (mapped) weights_.raw_expert_bytes_ += n_bytes;
    weights_.expert_bytes_ += mapped ? n_bytes : packed_bytes(raw_matrix(one), kernels_);
    return {put(one, weights_.expert_storage_)};
  }

  bool streams_experts() const { return weights_.streams_experts_; }
  void leave_in_file(const std::array<const gguf::TensorInfo*, kExpertParts>& stacks) {
    weights_.expert_layouts_.push_back(expert_layout(*weights_.file_, stacks, kernels_));
  }

  template <class In, class... Outs>
  Projections<In, Outs...> projections(const std::array<std::string, sizeof...(Outs)>& names) {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return fused(std::tuple{matrix<Outs, In>(names[I])...});  // braces: placed in this order
    }(std::index_sequence_for<Outs...>());
  }

  // Placed one after the other.
  template <class In, class... Outs>
  Projections<In, Outs...> fused(std::tuple<Weight<Outs, In>...> parts) const {
    Projections<In, Outs...> result{std::move(parts), {}};
    std::apply(
        [&](const auto&... part) { result.fused = fuse(std::array{part.matrix...}, kernels_); },
        result.parts);
    return result;
  }

  template <class A>
  Norm<A> norm(std::string_view name) {
    return {vector(name, A::name, extent_of<A>(config_)), config_.norm_eps};
  }

  template <class A>
  Bias<A> bias(std::string_view name) {
    return {vector(name, A::name, extent_of<A>(config_))};
  }

  // One number a place, widened to f32 and finite.
  std::span<const float> vector(std::string_view name, std::string_view axis, size_t extent) {
    const gguf::TensorInfo& tensor = take(name);
    if (tensor.dims != std::vector<uint64_t>{extent}) {
      fail("InvalidWeightShape", tensor,
           fmt::format("expected [{} {}], file has {}", axis, extent, shape_text(tensor)));
    }
    if (tensor.dtype != DType::F32 && tensor.dtype != DType::F16 && tensor.dtype != DType::BF16) {
      refuse("UnsupportedWeightType", tensor,
             fmt::format("expected F32, F16 or BF16, file has {}", to_string(tensor.dtype)));
    }
    std::vector<float>& numbers = weights_.vectors_.emplace_back(extent);
    dequantize_row(tensor.dtype, tensor.data.data(), extent, numbers.data());
    if (!kernels_.rows.all_finite(numbers.data(), extent)) {
      fail("NonFiniteWeight", tensor, "holds NaN or infinity");
    }
    return numbers;
  }

  // What the angles of the pairs are divided by. Below 0.5 an angle could leave what sin_cos takes.
  std::span<const float> rope_divisors() {
    constexpr std::string_view kName = "rope_freqs.weight";
    const std::span<const float> divisors = vector(kName, Pair::name, config_.head_dim / 2);
    const float least = *std::ranges::min_element(divisors);
    if (least < 0.5f) {
      fail("InvalidWeight", weights_.file_->require(kName),
           fmt::format("expected divisors of angles from 0.5, file has {}", least));
    }
    return divisors;
  }

  void refuse_unused() const {
    const std::span<const gguf::TensorInfo> tensors = weights_.file_->tensors();
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (used_[i]) continue;
      const bool is_ptqtp = tensors[i].name.find(".ptqtp") != std::string_view::npos;
      refuse("UnsupportedTensor", tensors[i],
             is_ptqtp ? "PTQTP planes are not supported yet"
                      : "this architecture, as implemented here, would not use it");
    }
  }

 private:
  const gguf::TensorInfo& take(std::string_view name) {
    const gguf::TensorInfo& tensor = weights_.file_->require(name);
    used_[static_cast<size_t>(&tensor - weights_.file_->tensors().data())] = true;
    return tensor;
  }

  template <class Out, class In>
  const gguf::TensorInfo& take_matrix(std::string_view name) {
    const gguf::TensorInfo& tensor = take(name);
    const size_t n_out = extent_of<Out>(config_);
    const size_t n_in = extent_of<In>(config_);
    if (tensor.dims != std::vector<uint64_t>{n_in, n_out}) {
      fail("InvalidWeightShape", tensor,
           fmt::format("expected [{} {}, {} {}], file has {}", Out::name, n_out, In::name, n_in,
                       shape_text(tensor)));
    }
    check_format(tensor);
    return tensor;
  }

  template <class Out, class In>
  const gguf::TensorInfo& take_stack(std::string_view name) {
    const gguf::TensorInfo& tensor = take(name);
    const size_t n_out = extent_of<Out>(config_);
    const size_t n_in = extent_of<In>(config_);
    if (tensor.dims != std::vector<uint64_t>{n_in, n_out, config_.n_experts}) {
      fail("InvalidWeightShape", tensor,
           fmt::format("expected [expert {}, {} {}, {} {}], file has {}", config_.n_experts,
                       Out::name, n_out, In::name, n_in, shape_text(tensor)));
    }
    check_format(tensor);
    return tensor;
  }

  // A matrix's place: packed behind those before it, or where the file has it.
  WeightMatrix put(const gguf::TensorInfo& tensor, WeightStorage storage) {
    if (storage == WeightStorage::packed) return weights_.packed_.place(tensor, kernels_);
    weights_.raw_bytes_ += tensor.data.size();
    return raw_matrix(tensor);
  }

  void check_format(const gguf::TensorInfo& tensor) const {
    if (is_weight_format(tensor.dtype)) return;
    refuse("UnsupportedWeightType", tensor,
           fmt::format("stored as {}, which is not supported", to_string(tensor.dtype)));
  }

  [[noreturn]] void fail(std::string code,
                         const gguf::TensorInfo& tensor,
                         const std::string& what) const {
    throw Error(ErrorKind::bad_file, std::move(code), message(tensor, what));
  }
  [[noreturn]] void refuse(std::string code,
                           const gguf::TensorInfo& tensor,
                           const std::string& what) const {
    throw Error(ErrorKind::unsupported, std::move(code), message(tensor, what));
  }
  std::string message(const gguf::TensorInfo& tensor, const std::string& what) const {
    return fmt::format("{}: {}: {}", weights_.file_->metadata().source(), escaped(tensor.name),
                       what);
  }

  Weights& weights_;
  const Config& config_;
  const Kernels& kernels_;
  std::vector<bool> used_;  // by place in the file
};

namespace {

AttentionWeights load_attention(WeightLoader& load,
                                const Config& config,
                                const std::string& layer) {
  AttentionWeights w;
  w.norm = load.norm<Embed>(layer + "attn_norm.weight");
  w.qkv = load.projections<Embed, Query, KeyValue, KeyValue>(
      {layer + "attn_q.weight", layer + "attn_k.weight", layer + "attn_v.weight"});
  const bool is_qwen2 =
      config.architecture == Architecture::qwen2 || config.architecture == Architecture::qwen2moe;
  if (is_qwen2 || load.has(layer + "attn_q.bias")) {
    w.biases = {.q = load.bias<Query>(layer + "attn_q.bias"),
                .k = load.bias<KeyValue>(layer + "attn_k.bias"),
                .v = load.bias<KeyValue>(layer + "attn_v.bias")};
  }
  if (config.qk_norm) {
    w.head_norms = {.q = load.norm<Dim>(layer + "attn_q_norm.weight"),
                    .k = load.norm<Dim>(layer + "attn_k_norm.weight")};
  }
  w.output = load.matrix<Embed, Query>(layer + "attn_output.weight");
  return w;
}

// A network that is no expert of a stack: ffn_gate, ffn_up and ffn_down with a suffix.
template <class Inner>
GatedNetwork<Inner> load_network(WeightLoader& load,
                                 const std::string& layer,
                                 std::string_view suffix) {
  const auto name = [&](std::string_view part) {
    return fmt::format("{}ffn_{}{}.weight", layer, part, suffix);
  };
  GatedNetwork<Inner> network;
  network.gate_up = load.projections<Embed, Inner, Inner>({name("gate"), name("up")});
  network.down = load.matrix<Embed, Inner>(name("down"));
  return network;
}

// Nothing where they stay in the file: their store brings them, once all layers are known.
std::unique_ptr<ExpertSource> load_experts(WeightLoader& load,
                                           const Config& config,
                                           const std::string& layer) {
  const auto gates = load.expert_stack<Ff, Embed>(layer + "ffn_gate_exps.weight");
  const auto ups = load.expert_stack<Ff, Embed>(layer + "ffn_up_exps.weight");
  const auto downs = load.expert_stack<Embed, Ff>(layer + "ffn_down_exps.weight");
  if (load.streams_experts()) {
    load.leave_in_file({gates.tensor, ups.tensor, downs.tensor});
    return nullptr;
  }
  std::vector<FeedForward> experts;
  for (size_t e = 0; e < config.n_experts; ++e) {
    FeedForward expert;  // braces: gate and up are placed in this order
    expert.gate_up = load.fused<Embed, Ff, Ff>(
        std::tuple{load.expert_matrix(gates, e), load.expert_matrix(ups, e)});
    expert.down = load.expert_matrix(downs, e);
    experts.push_back(expert);
  }
  return std::make_unique<ResidentExperts>(std::move(experts));
}

Mixture load_mixture(WeightLoader& load, const Config& config, const std::string& layer) {
  Mixture mixture;
  mixture.router = load.router(layer + "ffn_gate_inp.weight");
  mixture.experts = load_experts(load, config, layer);
  if (config.d_shared > 0) {
    mixture.shared = {load.raw_row<Share, Embed>(layer + "ffn_gate_inp_shexp.weight"),
                      load_network<SharedFf>(load, layer, "_shexp")};
  }
  return mixture;
}

FeedForwardWeights load_feed_forward(WeightLoader& load,
                                     const Config& config,
                                     const std::string& layer) {
  FeedForwardWeights w;
  w.norm = load.norm<Embed>(layer + "ffn_norm.weight");
  if (config.n_experts == 0) {
    w.network = load_network<Ff>(load, layer, "");
  } else {
    w.network = load_mixture(load, config, layer);
  }
  return w;
}

// A head of its own leaves the embedding raw: a text reads few of its rows.
bool is_packed_matrix(const gguf::File& file, const gguf::TensorInfo& tensor) {
  if (!is_matrix(tensor)) return false;
  return tensor.name != kEmbedding || file.find(kHead) == nullptr;
}

bool is_expert_stack(const gguf::TensorInfo& tensor) {
  return tensor.dims.size() == 3 && is_weight_format(tensor.dtype);
}
// The shape of one of its matrices.
WeightMatrix expert_matrix(const gguf::TensorInfo& stack) {
  return {.dtype = stack.dtype,
          .n_out = static_cast<size_t>(stack.dims[1]),
          .n_in = static_cast<size_t>(stack.dims[0])};
}

void note_what_a_dense_model_ignores(const LoadOptions& options, std::vector<std::string>& notes) {
  const auto note = [&](std::string_view what) {
    notes.push_back(fmt::format("the model has no experts: {} changes nothing", what));
  };
  if (options.expert_cache) note("a cache for them");
  if (options.experts != WeightStorage::automatic) note("where they are kept");
  if (options.expert_top_p < 1) note("a top-p of them");
}

}  // namespace

std::optional<std::string> why_cache_is_too_large(uint64_t cache_bytes,
                                                  uint64_t rest_bytes,
                                                  std::optional<uint64_t> available) {
  if (automatic_storage(cache_bytes + rest_bytes, available) == WeightStorage::packed) {
    return std::nullopt;
  }
  const auto gb = [](uint64_t bytes) { return static_cast<double>(bytes) / 1e9; };
  return fmt::format(
      "an expert cache of {:.1f} GB and {:.1f} GB of other weights: expected at most nine tenths "
      "of the {:.1f} GB of memory that are available; what is swapped is no cache, a smaller one "
      "is faster",
      gb(cache_bytes), gb(rest_bytes), gb(*available));
}

Room room_for_matrices(const gguf::File& file, const Kernels& kernels) {
  Room room;
  for (const gguf::TensorInfo& tensor : file.tensors()) {
    if (is_packed_matrix(file, tensor)) room.rest += packed_bytes(raw_matrix(tensor), kernels);
    if (is_expert_stack(tensor)) {
      room.experts += tensor.dims[2] * packed_bytes(expert_matrix(tensor), kernels);
    }
  }
  return room;
}

WeightStorage automatic_storage(uint64_t packed_bytes, std::optional<uint64_t> available) {
  const bool fits = !available || packed_bytes <= *available / 10 * 9;
  return fits ? WeightStorage::packed : WeightStorage::mapped;
}

StoragePlan plan_storage(const LoadOptions& options,
                         uint64_t rest_bytes,
                         uint64_t expert_bytes,
                         std::optional<uint64_t> available) {
  const auto chosen = [](WeightStorage asked, WeightStorage otherwise) {
    return asked == WeightStorage::automatic ? otherwise : asked;
  };
  const uint64_t asked_bytes =
      rest_bytes + (options.experts == WeightStorage::mapped ? 0 : expert_bytes);
  const WeightStorage all = automatic_storage(asked_bytes, available);
  const WeightStorage rest = chosen(options.weights, automatic_storage(rest_bytes, available));
  const bool may_pack = rest == WeightStorage::packed;
  // Asked for packed weights, one gets them all.
  const WeightStorage experts =
      chosen(options.experts, options.weights == WeightStorage::automatic ? all : options.weights);
  return {rest, may_pack ? experts : WeightStorage::mapped};
}

Weights::Weights(gguf::File file, const Kernels& kernels, const LoadOptions& options)
    : file_(std::move(file)) {
  const Room room = room_for_matrices(*file_, kernels);
  LoadOptions asked = options;
  uint64_t cache_bytes = 0;
  if (room.experts == 0) note_what_a_dense_model_ignores(options, notes);
  if (options.expert_cache && room.experts > 0) {
    streams_experts_ = true;
    asked.experts = WeightStorage::mapped;
    cache_bytes = std::min<uint64_t>(options.expert_cache->bytes, room.experts);
  }
  // A cache file is mapped, not copied: it needs no room.
  const bool may_be_cached = options.pack_cache && !file_->mappings().empty();
  if (may_be_cached && asked.weights == WeightStorage::automatic) {
    asked.weights = WeightStorage::packed;
  }
  const std::optional<uint64_t> available = available_memory();
  const StoragePlan plan = plan_storage(asked, room.rest + cache_bytes, room.experts, available);
  storage_ = plan.rest;
  expert_storage_ = plan.experts;
  const bool packs_experts = room.experts > 0 && expert_storage_ == WeightStorage::packed;
  if (streams_experts_) {
    const auto why = why_cache_is_too_large(cache_bytes, room.rest, available);
    if (why) notes.push_back(*why);
  } else if (storage_ == WeightStorage::mapped && asked.weights == WeightStorage::automatic) {
    notes.push_back(
        fmt::format("packed weights would take {:.1f} GB, more than there is memory "
                    "for: they stay in the file, which is slower",
                    static_cast<double>(room.rest + room.experts) / 1e9));
  } else if (room.experts > 0 && !packs_experts && storage_ == WeightStorage::packed &&
             asked.experts == WeightStorage::automatic) {
    notes.push_back(
        fmt::format("packed experts would take {:.1f} GB, more than there is memory "
                    "for: they stay in the file, which is slower",
                    static_cast<double>(room.experts) / 1e9));
  }
  if (storage_ == WeightStorage::packed) {
    packed_ = PackedWeights(room.rest + (packs_experts ? room.experts : 0));
  }
}

Weights Weights::load(gguf::File file,
                      const Config& config,
                      const Kernels& kernels,
                      ThreadPool& pool,
                      const LoadOptions& options,
                      const MakeExpertReader& make_expert_reader) {
  Weights w(std::move(file), kernels, options);
  w.place_all(config, kernels);
  if (w.streams_experts_) {
    w.make_expert_store(kernels, *options.expert_cache, make_expert_reader);
  }
  if (w.storage_ == WeightStorage::packed && options.pack_cache && !w.file_->mappings().empty()) {
    auto report = w.packed_.fill_from_cache(*w.file_, kernels, pool, options);
    if (!report.filled) {
      LoadOptions uncached = options;
      uncached.pack_cache.reset();
      w.expert_store_.reset();
      Weights plain =
          load(std::move(*w.file_), config, kernels, pool, uncached, make_expert_reader);
      plain.notes.insert(plain.notes.begin(), report.notes.begin(), report.notes.end());
      return plain;
    }
    w.notes = std::move(report.notes);
  } else {
    w.packed_.fill(*w.file_, kernels, pool, options.on_progress);
  }
  // The disk is for experts: a row of the embedding brings no neighbours.
  if (w.streams_experts_ && w.has_raw_embedding()) {
    expect_random_reads(w.file_->require(kEmbedding).data);
  }
  if (w.raw_bytes_ == 0) w.file_.reset();  // nothing points into it any more
  return w;
}

void Weights::place_all(const Config& config, const Kernels& kernels) {
  WeightLoader load(*this, config, kernels);
  for (size_t i = 0; i < config.n_layers; ++i) {
    const std::string layer = fmt::format("blk.{}.", i);
    layers.push_back({load_attention(load, config, layer), load_feed_forward(load, config, layer)});
  }
  output_norm = load.norm<Embed>("output_norm.weight");
  const bool is_tied = !load.has(kHead);
  head = load.matrix<Vocab, Embed>(is_tied ? kEmbedding : kHead);
  const bool has_rows =
      !head.matrix.is_packed() || format_kernels(kernels, head.matrix.dtype).unpack_row != nullptr;
  embedding = is_tied && has_rows ? head : load.raw<Vocab, Embed>(kEmbedding);
  if (load.has("rope_freqs.weight")) {  // Llama 3's stretched angles
    rope_divisors = load.rope_divisors();
  }
  load.refuse_unused();
}

void Weights::make_expert_store(const Kernels& kernels,
                                const ExpertCacheOptions& options,
                                const MakeExpertReader& make_reader) {
  const ReadMode mode = options.direct ? ReadMode::direct : ReadMode::buffered;
  const size_t n_experts = expert_layouts_.front().n_experts;
  ExpertStoreParts parts{
      .layers = std::move(expert_layouts_),
      .reader = make_reader ? make_reader(*file_, mode)
                            : std::make_unique<FileExpertReader>(*file_, mode),
      .history = ExpertHistory(fingerprint(*file_, Fingerprint::content), layers.size(), n_experts),
      .history_path = {}};
  if (options.learn) {
    parts.history_path = expert_history_path(*file_);
    if (const auto why = parts.history.load(parts.history_path)) {
      notes.push_back(fmt::format("{}: no experts are pinned", *why));
    }
  }
  expert_store_ = std::make_unique<ExpertStore>(std::move(parts), kernels, options);
  expert_bytes_ = expert_store_->stats().capacity_bytes;
  for (size_t i = 0; i < layers.size(); ++i) {
    std::get<Mixture>(layers[i].feed_forward.network).experts = expert_store_->source(i);
  }
}

bool Weights::has_raw_embedding() const {
  return !embedding.matrix.is_packed() && embedding.matrix.rows != head.matrix.rows;
}

size_t Weights::matrix_bytes() const {
  const size_t streamed_bytes = expert_store_ ? expert_bytes_ : 0;
  const size_t in_memory_bytes = packed_.bytes_used() + raw_expert_bytes_;
  return streamed_bytes + (storage_ == WeightStorage::packed ? in_memory_bytes : raw_bytes_);
}

void Weights::require_whole_file() const {
  if (file_) file_->require_full_size();
  packed_.require_whole_file();
}

}  // namespace maglio

// One forward pass, in the order of its equations. Read forward_pass() first.
#include "model/transformer.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/cpu_count.h"
#include "base/float_environment.h"
#include "base/thread_pool.h"
#include "gguf/reader.h"
#include "kernels/registry.h"
#include "maglio/error.h"
#include "model/kv_cache.h"
#include "model/pass.h"
#include "model/weights.h"
#include "ops/attention.h"
#include "ops/embed.h"
#include "ops/linear.h"
#include "ops/mixture.h"
#include "ops/norm.h"
#include "ops/residual.h"
#include "ops/rope.h"
#include "ops/rounded.h"
#include "ops/router.h"
#include "ops/share.h"

namespace maglio {
namespace {

// A model, as the forward pass reads it.
struct Network {
  const Config& config;
  const Weights& weights;
  const RopeFrequencies& rope;
  AttentionOptions attention;
  RouterOptions routing;
};

// Where in the model, and in whose sequences, a layer works.
struct Step {
  const Network& net;
  const Pass& pass;
  RopeTable rope;  // angles of every row's position
  size_t layer_i = 0;

  bool is_last_layer() const { return layer_i + 1 == net.config.n_layers; }
};

// What a token asks, and what it offers to those after it.
struct Heads {
  Tensor<float, Seq, Query> q;
  Tensor<float, Seq, KeyValue> k;
  Tensor<float, Seq, KeyValue> v;
};

Tensor<float, Seq, Embed> attention_block(Context& cx,
                                          Tensor<float, Seq, Embed> x,
                                          const AttentionWeights& w,
                                          const Step& step);
Heads place_heads(Context& cx,
                  const QuantRows<Seq, Embed>& h,
                  const AttentionWeights& w,
                  const Step& step);
void remember(Context& cx, const Heads& heads, const Step& step);
Tensor<float, Seq, Head, Dim> look_back(Context& cx,
                                        Tensor<float, Seq, Head, Dim> queries,
                                        const Step& step);
void feed_forward_block(Context& cx,
                        Tensor<float, Seq, Embed> x,
                        const FeedForwardWeights& w,
                        const Step& step);
Tensor<float, Seq, Embed> feed_forward(Context& cx,
                                       Tensor<float, Seq, Embed> x,
                                       const Norm<Embed>& norm,
                                       const FeedForward& w,
                                       const Step& step);
Tensor<float, Seq, Embed> feed_forward(Context& cx,
                                       Tensor<float, Seq, Embed> x,
                                       const Norm<Embed>& norm,
                                       const Mixture& w,
                                       const Step& step);
void look_ahead(Context& cx,
                Tensor<float, Seq, Embed> x,
                const Mixture& w,
                const Routing& routing,
                const Step& step);

// One pass: the logits of the rows that want them; every cache is longer by its rows then.
//
//   x = embedding[ids]                                             the residual stream
//   x += W_o attention(norm(x));   x += feed_forward(norm(x))      in each layer
//   logits = W_head norm(x)
void forward_pass(Context& cx, const Network& net, const Pass& pass, Logits logits) {
  const Arena::Scope scope(cx.arena);
  Step step{net, pass, make_rope_table(cx, net.rope, net.config.rope_pairing, pass.positions)};
  Tensor<float, Seq, Embed> x = embed(cx, net.weights.embedding, pass.ids);
  for (const Layer& layer : net.weights.layers) {
    x = attention_block(cx, x, layer.attention, step);
    feed_forward_block(cx, x, layer.feed_forward, step);
    ++step.layer_i;
  }
  for (const PassSpan& span : pass.spans) span.cache->advance(span.n_rows);
  const Tensor<float, Seq, Embed> normed = rms_norm(cx, x, net.weights.output_norm);
  probe(cx, "result_norm", step.layer_i, normed);
  linear_into(cx, renamed<Seq, Row>(normed), net.weights.head, logits);
}

// Tokens look at those before them, and at themselves:
//
//   x += W_o softmax(q k' / sqrt(head_dim)) v
//
// Returns x. In the last layer everybody's keys and values are remembered, but only the rows that
// want logits go on: nobody would read the others.
Tensor<float, Seq, Embed> attention_block(Context& cx,
                                          Tensor<float, Seq, Embed> x,
                                          const AttentionWeights& w,
                                          const Step& step) {
  const Arena::Scope temporaries(cx.arena);
  Heads heads = place_heads(cx, rounded_rms_norm(cx, x, w.norm, w.qkv), w, step);
  remember(cx, heads, step);
  if (step.is_last_layer()) {
    heads.q = keep_rows(heads.q, step.pass.wanted);
    x = keep_rows(x, step.pass.wanted);
  }
  const Tensor<float, Seq, Head, Dim> queries = split(heads.q, step.net.config.head_dim);
  const Tensor<float, Seq, Query> seen = merge(look_back(cx, queries, step));
  probe(cx, "kqv_out", step.layer_i, seen);
  const Tensor<float, Seq, Embed> contribution = linear(cx, seen, w.output);
  probe(cx, "attn_out", step.layer_i, contribution);
  add(cx, x, contribution);
  return x;
}

// q, k, v = W_q h, W_k h, W_v h, plus a bias (Qwen2); then q and k, head by head, are normalised
// (Qwen3) and rotated to their token's position.
Heads place_heads(Context& cx,
                  const QuantRows<Seq, Embed>& h,
                  const AttentionWeights& w,
                  const Step& step) {
  const auto [q, k, v] = project(cx, h, w.qkv);
  if (w.biases) {
    add(cx, q, w.biases->q);
    add(cx, k, w.biases->k);
    add(cx, v, w.biases->v);
  }
  const Tensor<float, Seq, Head, Dim> queries = split(q, step.net.config.head_dim);
  const Tensor<float, Seq, KvHead, Dim> keys = split(k, step.net.config.head_dim);
  if (w.head_norms) {
    rms_norm_rope(cx, queries, w.head_norms->q, step.rope);
    rms_norm_rope(cx, keys, w.head_norms->k, step.rope);
  } else {
    rope(cx, queries, step.rope);
    rope(cx, keys, step.rope);
  }
  probe(cx, "Qcur", step.layer_i, q);
  probe(cx, "Kcur", step.layer_i, k);
  probe(cx, "Vcur", step.layer_i, v);
  return {q, k, v};
}

// Keys and values go to each row's own cache, behind its past.
void remember(Context& cx, const Heads& heads, const Step& step) {
  const Tensor<float, Seq, KvHead, Dim> keys = split(heads.k, step.net.config.head_dim);
  const Tensor<float, Seq, KvHead, Dim> values = split(heads.v, step.net.config.head_dim);
  for (const PassSpan& span : step.pass.spans) {
    span.cache->append_layer(cx.pool, step.layer_i, keys.narrow<Seq>(span.first_row, span.n_rows),
                             values.narrow<Seq>(span.first_row, span.n_rows));
  }
}

// What each row's queries see in their own sequence: its cache, this pass's rows included.
Tensor<float, Seq, Head, Dim> look_back(Context& cx,
                                        Tensor<float, Seq, Head, Dim> queries,
                                        const Step& step) {
  std::vector<AttentionStream> streams;
  for (const PassSpan& span : step.pass.spans) {
    const size_t n_queries = step.is_last_layer() ? span.n_wanted : span.n_rows;
    const size_t end = span.position + span.n_rows;
    streams.push_back({.keys_values = span.cache->pages(step.layer_i),
                       .n_keys = end,
                       .position = end - n_queries,
                       .n_rows = n_queries});
  }
  return attend(cx, queries, streams, step.net.attention);
}

// Each token by itself: x += feed_forward(norm(x)).
void feed_forward_block(Context& cx,
                        Tensor<float, Seq, Embed> x,
                        const FeedForwardWeights& w,
                        const Step& step) {
  const Arena::Scope temporaries(cx.arena);
  const Tensor<float, Seq, Embed> contribution = std::visit(
      [&](const auto& network) { return feed_forward(cx, x, w.norm, network, step); }, w.network);
  probe(cx, "ffn_out", step.layer_i, contribution);
  add(cx, x, contribution);
}

// W_down (silu(W_gate h) * W_up h)
template <class Inner>
Tensor<float, Seq, Embed> gated_network(Context& cx,
                                        const QuantRows<Seq, Embed>& h,
                                        const GatedNetwork<Inner>& w) {
  const auto [gate, up] = project(cx, h, w.gate_up);
  return linear(cx, rounded_swiglu(cx, gate, up, w.down), w.down);
}

// The only network of the layer, on h = norm(x).
Tensor<float, Seq, Embed> feed_forward(Context& cx,
                                       Tensor<float, Seq, Embed> x,
                                       const Norm<Embed>& norm,
                                       const FeedForward& w,
                                       const Step&) {
  return gated_network(cx, rounded_rms_norm(cx, x, norm, w.gate_up), w);
}

// norm(x) for everything in a mixture that reads it.
QuantRows<Seq, Embed> mixture_input(Context& cx,
                                    Tensor<float, Seq, Embed> x,
                                    const Norm<Embed>& norm,
                                    const Mixture& w) {
  const auto& experts = w.experts->form().gate_up;
  if (!w.shared) return rounded_rms_norm(cx, x, norm, experts, w.router);
  const auto& [gate, up] = w.shared->network.gate_up.parts;
  return rounded_rms_norm(cx, x, norm, experts, w.router, w.shared->share, gate, up);
}

// The same by a few of many experts, blended as the router says (section 12.8), and in Qwen2's
// mixtures a share of one that all tokens use:
//
//   sum over e in top_k(W_router h) of weight_e network_e(h)  +  sigmoid(w_share h)
//   network_shared(h)
Tensor<float, Seq, Embed> feed_forward(Context& cx,
                                       Tensor<float, Seq, Embed> x,
                                       const Norm<Embed>& norm,
                                       const Mixture& w,
                                       const Step& step) {
  const QuantRows<Seq, Embed> h = mixture_input(cx, x, norm, w);
  const Tensor<float, Seq, Expert> logits = linear(cx, h, w.router);
  probe(cx, "ffn_moe_logits", step.layer_i, logits);
  const Routing routing = route(cx, logits, step.net.routing);
  look_ahead(cx, x, w, routing, step);
  const Tensor<float, Seq, Embed> out = mix(cx, h, routing, *w.experts);
  if (w.shared) {
    add_share(cx, out, linear(cx, h, w.shared->share), gated_network(cx, h, w.shared->network));
  }
  return out;
}

// Where experts are read from disk: this layer's are sent for, and then those that the next layer's
// router would choose for the residual stream as it is now, before this layer's experts and the
// next one's attention have added to it. A guess: it decides when bytes are read, and nothing else.
void look_ahead(Context& cx,
                Tensor<float, Seq, Embed> x,
                const Mixture& w,
                const Routing& routing,
                const Step& step) {
  if (!w.experts->looks_ahead() || step.is_last_layer()) return;
  const Arena::Scope temporaries(cx.arena);
  w.experts->send_for(demand(cx, routing, w.experts->n_experts()));
  const FeedForwardWeights& next = step.net.weights.layers[step.layer_i + 1].feed_forward;
  const auto* const mixture = std::get_if<Mixture>(&next.network);
  if (mixture == nullptr) return;
  Tensor<float, Seq, Embed> h = rms_norm(cx, x, next.norm);
  if (step.layer_i + 2 == step.net.config.n_layers) h = keep_rows(h, step.pass.wanted);
  const Tensor<float, Seq, Expert> logits = linear(cx, h, mixture->router);
  const Routing guess = route(cx, logits, step.net.routing);
  mixture->experts->expect(likeliest_first(cx, guess, mixture->experts->n_experts()));
}

}  // namespace

struct Transformer::Parts {
  Parts(gguf::File file,
        const TransformerOptions& options,
        const MakeExpertReader& make_expert_reader)
      : kernels(options.isa.empty() ? active_kernels() : *find_kernels(options.isa)),
        config(Config::from_gguf(file)),
        pool(options.n_threads == 0 ? default_thread_count() : options.n_threads),
        weights(Weights::load(std::move(file), config, kernels, pool, options, make_expert_reader)),
        rope(config.head_dim,
             config.rope_base,
             {.factor = config.rope_scale, .divisors = weights.rope_divisors}),
        net{config,
            weights,
            rope,
            {.window = options.attn_window},
            {.n_used = config.n_experts_used,
             .normalize_selected = config.normalize_selected,
             .top_p = options.expert_top_p}},
        cx{pool, arena, kernels} {}

  const Kernels& kernels;
  Config config;
  ThreadPool pool;
  Arena arena;
  Weights weights;
  RopeFrequencies rope;
  Network net;
  Context cx;
  std::optional<Arena::Scope> logits_scope;  // open until the next call
};

namespace {

// Until it is kept, what happened to the caches of a batch is undone when it ends.
class Undo {
 public:
  explicit Undo(Batch batch) : batch_(batch) {}
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;
  ~Undo() {
    for (const Span& span : batch_) span.cache->truncate(span.position);
  }
  void keep() { batch_ = {}; }

 private:
  Batch batch_;
};

// A NaN or an infinity anywhere in the model ends here, and not in somebody's text.
void check_finite(const Kernels& kernels, Logits logits) {
  for (size_t i = 0; i < logits.extent<Row>(); ++i) {
    const std::span<const float> row = logits.select<Row>(i).span();
    if (kernels.rows.all_finite(row.data(), row.size())) continue;
    throw Error(ErrorKind::bad_file, "NonFiniteLogits",
                fmt::format("row {} of the logits holds NaN or infinity: the model's weights are "
                            "broken, or too large for its format",
                            i));
  }
}

void check_options(const TransformerOptions& options) {
  if (!(options.expert_top_p >= 0)) {  // nor NaN
    throw Error(
        ErrorKind::bad_request, "BadExpertTopP",
        fmt::format("expert_top_p is {}, expected 0 or more: 1 keeps every expert of a token",
                    options.expert_top_p));
  }
  constexpr size_t kMostIoThreads = 256;
  if (!options.expert_cache) return;
  const size_t n = options.expert_cache->n_io_threads;
  if (n == 0 || n > kMostIoThreads) {
    throw Error(ErrorKind::bad_request, "BadExpertIoThreads",
                fmt::format("n_io_threads is {}, expected 1 to {}", n, kMostIoThreads));
  }
}

}  // namespace

Transformer::Transformer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Transformer::Transformer(Transformer&&) noexcept = default;
Transformer& Transformer::operator=(Transformer&&) noexcept = default;
Transformer::~Transformer() = default;

Transformer Transformer::load(const std::filesystem::path& path,
                              const TransformerOptions& options) {
  return load(gguf::File::open(path), options);
}

Transformer Transformer::load(gguf::File file,
                              const TransformerOptions& options,
                              const MakeExpertReader& make_expert_reader) {
  check_options(options);
  return Transformer(std::make_unique<Parts>(std::move(file), options, make_expert_reader));
}

Logits Transformer::forward(Batch batch) {
  Parts& p = *parts_;
  check_batch(batch, p.config);
  p.weights.require_whole_file();
  const FloatEnvironment standard;
  p.logits_scope.reset();
  p.logits_scope.emplace(p.arena);
  size_t n_wanted = 0;
  for (const Span& span : batch) n_wanted += wanted_rows(span);
  const Logits logits = p.arena.tensor<Row, Vocab>({n_wanted, p.config.vocab_size});

  Undo undo(batch);
  for (const Span& span : batch) span.cache->reserve(span.ids.size());
  size_t row = 0;
  for (const Pass& pass : cut_into_passes(batch)) {
    forward_pass(p.cx, p.net, pass, logits.narrow<Row>(row, pass.wanted.size()));
    row += pass.wanted.size();
  }
  check_finite(p.kernels, logits);
  undo.keep();
  return logits;
}

std::span<float> Transformer::forward_step(KvCache& cache,
                                           std::span<const TokenId> ids,
                                           size_t position) {
  const Span span{.cache = &cache, .position = position, .ids = ids, .logits = LogitRows::last};
  return forward({&span, 1}).select<Row>(0).span();
}

Logits Transformer::forward_step_all_logits(KvCache& cache,
                                            std::span<const TokenId> ids,
                                            size_t position) {
  const Span span{.cache = &cache, .position = position, .ids = ids, .logits = LogitRows::all};
  return forward({&span, 1});
}

Logits Transformer::forward_step_batch(std::span<KvCache* const> caches,
                                       std::span<const TokenId> ids) {
  if (caches.size() != ids.size()) {
    throw Error(ErrorKind::bad_request, "MismatchedKvCaches",
                fmt::format("{} caches, but {} tokens: one token each", caches.size(), ids.size()));
  }
  std::vector<Span> batch;
  for (size_t i = 0; i < ids.size(); ++i) {
    batch.push_back(
        {.cache = caches[i], .position = caches[i]->length(), .ids = ids.subspan(i, 1)});
  }
  return forward(batch);
}

std::span<float> Transformer::forward_last_logits(std::span<const TokenId> ids,
                                                  CacheType rounding) {
  KvCache scratch = new_cache(ids.size(), rounding);
  return forward_step(scratch, ids, 0);
}

KvCache Transformer::new_cache(size_t capacity, CacheType type) const {
  const Config& c = parts_->config;
  return KvCache({c.n_layers, c.n_kv_heads, c.head_dim}, type, capacity, parts_->kernels);
}

const Config& Transformer::config() const {
  return parts_->config;
}
const Kernels& Transformer::kernels() const {
  return parts_->kernels;
}
size_t Transformer::n_threads() const {
  return parts_->pool.size();
}
WeightStorage Transformer::weight_storage() const {
  return parts_->weights.storage();
}
size_t Transformer::weight_bytes() const {
  return parts_->weights.matrix_bytes();
}
size_t Transformer::expert_bytes() const {
  return parts_->weights.expert_bytes();
}
const std::vector<std::string>& Transformer::load_notes() const {
  return parts_->weights.notes;
}
std::optional<ExpertCacheStats> Transformer::expert_cache_stats() const {
  const ExpertStore* const store = parts_->weights.expert_store();
  return store == nullptr ? std::nullopt : std::optional(store->stats());
}
std::optional<std::string> Transformer::keep_expert_history() {
  ExpertStore* const store = parts_->weights.expert_store();
  return store == nullptr ? std::nullopt : store->keep_history();
}
size_t Transformer::scratch_bytes() const {
  return parts_->arena.capacity();
}
void Transformer::set_probe(Probe probe) {
  parts_->cx.probe = std::move(probe);
}

}  // namespace maglio

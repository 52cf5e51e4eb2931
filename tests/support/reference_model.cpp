#include "support/reference_model.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>

#include "quant/codec.h"

namespace maglio::test {
namespace {

class Reference {
 public:
  explicit Reference(const gguf::File& file)
      : file_(file), architecture_(*file.metadata().string("general.architecture")) {
    d_model_ = count("embedding_length");
    n_layers_ = count("block_count");
    n_heads_ = count("attention.head_count");
    n_kv_heads_ = count("attention.head_count_kv");
    head_dim_ = file.metadata().uint(key("attention.key_length")).value_or(d_model_ / n_heads_);
    eps_ = *file.metadata().number(key("attention.layer_norm_rms_epsilon"));
    rope_base_ = *file.metadata().number(key("rope.freq_base"));
    position_scale_ = file.metadata().number(key("rope.scaling.factor")).value_or(1.0);
    if (file.find("rope_freqs.weight") != nullptr) divisors_ = row("rope_freqs.weight", 0);
  }

  Matrix logits(std::span<const int32_t> ids, size_t window) const {
    Matrix x;
    for (const int32_t id : ids) x.push_back(row("token_embd.weight", static_cast<size_t>(id)));
    for (size_t i = 0; i < n_layers_; ++i) {
      const std::string layer = "blk." + std::to_string(i) + ".";
      accumulate(x, attention(normed(x, layer + "attn_norm.weight"), layer, window));
      accumulate(x, feed_forward(normed(x, layer + "ffn_norm.weight"), layer));
    }
    const bool tied = file_.find("output.weight") == nullptr;
    return times(normed(x, "output_norm.weight"), tied ? "token_embd.weight" : "output.weight");
  }

 private:
  std::string key(std::string_view name) const {
    return std::string(architecture_) + "." + std::string(name);
  }
  size_t count(std::string_view name) const { return *file_.metadata().uint(key(name)); }

  std::vector<double> row(const std::string& name, size_t i) const {
    const gguf::TensorInfo& t = file_.require(name);
    const size_t n = t.dims[0];
    std::vector<float> numbers(n);
    dequantize_row(t.dtype, t.data.data() + i * row_bytes(t.dtype, n), n, numbers.data());
    return {numbers.begin(), numbers.end()};
  }

  // out[t][o] = sum over k of x[t][k] * weight[o][k], plus the bias where the file has one.
  // With an expert, its matrix among those of the tensor.
  Matrix times(const Matrix& x, const std::string& name, size_t expert = 0) const {
    const size_t n_out = file_.require(name).dims[1];
    Matrix out(x.size(), std::vector<double>(n_out));
    for (size_t o = 0; o < n_out; ++o) {
      const std::vector<double> w = row(name, expert * n_out + o);
      for (size_t t = 0; t < x.size(); ++t) {
        double sum = 0;
        for (size_t k = 0; k < w.size(); ++k) sum += x[t][k] * w[k];
        out[t][o] = sum;
      }
    }
    const std::string bias = name.substr(0, name.rfind('.')) + ".bias";
    if (file_.find(bias) != nullptr) {
      const std::vector<double> b = row(bias, 0);
      for (std::vector<double>& r : out) {
        for (size_t o = 0; o < n_out; ++o) r[o] += b[o];
      }
    }
    return out;
  }

  void norm(std::span<double> x, const std::vector<double>& weight) const {
    double squares = 0;
    for (const double v : x) squares += v * v;
    const double scale = 1.0 / std::sqrt(squares / static_cast<double>(x.size()) + eps_);
    for (size_t i = 0; i < x.size(); ++i) x[i] *= scale * weight[i];
  }

  Matrix normed(Matrix x, const std::string& name) const {
    const std::vector<double> weight = row(name, 0);
    for (std::vector<double>& r : x) norm(r, weight);
    return x;
  }

  static void accumulate(Matrix& x, const Matrix& y) {
    for (size_t t = 0; t < x.size(); ++t) {
      for (size_t i = 0; i < x[t].size(); ++i) x[t][i] += y[t][i];
    }
  }

  void rotate(std::span<double> head, size_t position) const {
    const size_t half = head_dim_ / 2;
    const bool neighbours = architecture_ == "llama";
    for (size_t i = 0; i < half; ++i) {
      const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(head_dim_);
      const double divisor = position_scale_ * (divisors_.empty() ? 1.0 : divisors_[i]);
      const double angle = static_cast<double>(position) / divisor / std::pow(rope_base_, exponent);
      double& a = head[neighbours ? 2 * i : i];
      double& b = head[neighbours ? 2 * i + 1 : i + half];
      const double rotated = a * std::cos(angle) - b * std::sin(angle);
      b = a * std::sin(angle) + b * std::cos(angle);
      a = rotated;
    }
  }

  // Heads of q or k: normed where the file has a weight for it, then rotated.
  void place(Matrix& x, const std::string& norm_name) const {
    const bool has_norm = file_.find(norm_name) != nullptr;
    const std::vector<double> weight = has_norm ? row(norm_name, 0) : std::vector<double>();
    for (size_t t = 0; t < x.size(); ++t) {
      for (size_t at = 0; at < x[t].size(); at += head_dim_) {
        const std::span<double> head(x[t].data() + at, head_dim_);
        if (has_norm) norm(head, weight);
        rotate(head, t);
      }
    }
  }

  Matrix attention(const Matrix& h, const std::string& layer, size_t window) const {
    Matrix q = times(h, layer + "attn_q.weight");
    Matrix k = times(h, layer + "attn_k.weight");
    const Matrix v = times(h, layer + "attn_v.weight");
    place(q, layer + "attn_q_norm.weight");
    place(k, layer + "attn_k_norm.weight");
    Matrix out(h.size(), std::vector<double>(n_heads_ * head_dim_));
    for (size_t t = 0; t < h.size(); ++t) {
      const size_t first = window == 0 || t + 1 < window ? 0 : t + 1 - window;
      for (size_t head = 0; head < n_heads_; ++head) {
        const size_t q_at = head * head_dim_;
        const size_t kv_at = head / (n_heads_ / n_kv_heads_) * head_dim_;
        std::vector<double> p;
        for (size_t s = first; s <= t; ++s) {
          double score = 0;
          for (size_t d = 0; d < head_dim_; ++d) score += q[t][q_at + d] * k[s][kv_at + d];
          p.push_back(score / std::sqrt(static_cast<double>(head_dim_)));
        }
        softmax(p);
        for (size_t s = first; s <= t; ++s) {
          for (size_t d = 0; d < head_dim_; ++d) out[t][q_at + d] += p[s - first] * v[s][kv_at + d];
        }
      }
    }
    return times(out, layer + "attn_output.weight");
  }

  static void softmax(std::vector<double>& p) {
    const double max = *std::ranges::max_element(p);
    double sum = 0;
    for (double& v : p) sum += v = std::exp(v - max);
    for (double& v : p) v /= sum;
  }

  // out += sigmoid(w h) shared(h)
  void add_shared(const std::vector<double>& h,
                  const std::string& layer,
                  std::vector<double>& out) const {
    const std::vector<double> w = row(layer + "ffn_gate_inp_shexp.weight", 0);
    double gate = 0;
    for (size_t i = 0; i < h.size(); ++i) gate += w[i] * h[i];
    const std::vector<double> y = feed_forward({h}, layer, "_shexp", 0)[0];
    for (size_t i = 0; i < out.size(); ++i) out[i] += y[i] / (1 + std::exp(-gate));
  }

  // The experts of one token, blended: top-k of the logits, softmax over all, renormalised.
  std::vector<double> mixture(const std::vector<double>& h, const std::string& layer) const {
    std::vector<double> p = times({h}, layer + "ffn_gate_inp.weight")[0];
    softmax(p);
    std::vector<size_t> order(p.size());
    for (size_t e = 0; e < p.size(); ++e) order[e] = e;
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return p[a] > p[b]; });
    order.resize(count("expert_used_count"));
    double selected = 0;
    for (const size_t e : order) selected += p[e];
    if (architecture_ == "qwen2moe") selected = 1;  // weights are not renormalised
    std::vector<double> out(h.size(), 0.0);
    for (const size_t e : order) {
      const std::vector<double> y = feed_forward({h}, layer, "_exps", e)[0];
      for (size_t i = 0; i < out.size(); ++i) out[i] += p[e] / selected * y[i];
    }
    if (file_.find(layer + "ffn_gate_inp_shexp.weight") != nullptr) add_shared(h, layer, out);
    return out;
  }

  Matrix feed_forward(const Matrix& h, const std::string& layer) const {
    if (file_.find(layer + "ffn_gate_inp.weight") == nullptr) return feed_forward(h, layer, "", 0);
    Matrix out;
    for (const std::vector<double>& row : h) out.push_back(mixture(row, layer));
    return out;
  }

  Matrix feed_forward(const Matrix& h,
                      const std::string& layer,
                      const std::string& suffix,
                      size_t expert) const {
    Matrix gate = times(h, layer + "ffn_gate" + suffix + ".weight", expert);
    const Matrix up = times(h, layer + "ffn_up" + suffix + ".weight", expert);
    for (size_t t = 0; t < h.size(); ++t) {
      for (size_t i = 0; i < gate[t].size(); ++i) {
        const double g = gate[t][i];
        gate[t][i] = g / (1 + std::exp(-g)) * up[t][i];
      }
    }
    return times(gate, layer + "ffn_down" + suffix + ".weight", expert);
  }

  const gguf::File& file_;
  std::string_view architecture_;
  size_t d_model_, n_layers_, n_heads_, n_kv_heads_, head_dim_;
  double eps_, rope_base_, position_scale_;
  std::vector<double> divisors_;
};

}  // namespace

Matrix reference_logits(const gguf::File& file, std::span<const int32_t> ids, size_t window) {
  return Reference(file).logits(ids, window);
}

double relative_error(std::span<const float> got, std::span<const double> reference) {
  assert(got.size() == reference.size());
  const auto n = static_cast<double>(got.size());
  double squares = 0, mean = 0, spread = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double difference = static_cast<double>(got[i]) - reference[i];
    squares += difference * difference;
    mean += reference[i] / n;
  }
  for (const double r : reference) spread += (r - mean) * (r - mean);
  return std::sqrt(squares / spread);
}

}  // namespace maglio::test

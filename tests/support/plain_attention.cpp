#include "support/plain_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/math.h"

namespace maglio::test {
namespace {

constexpr size_t kPage = 64;
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// Sixteen running sums, added in halves.
float tree_sum(std::vector<float> lanes) {
  for (size_t n = 8; n >= 1; n /= 2) {
    for (size_t i = 0; i < n; ++i) lanes[i] += lanes[i + n];
  }
  return lanes[0];
}

struct Partial {
  float m = kMinusInfinity;
  float l = 0;
  std::vector<float> o;
};

// Positions [begin, end) of one page; `page` is the position of its first key.
Partial plain_page(const std::vector<float>& q,
                   const RowAt& key,
                   const RowAt& value,
                   size_t page,
                   size_t begin,
                   size_t end) {
  std::vector<float> scores;
  Partial part{.o = std::vector<float>(q.size(), 0.0f)};
  for (size_t j = begin; j < end; ++j) {
    const std::vector<float> k = key(j);
    float s = 0;
    for (size_t c = 0; c < q.size(); ++c) s = std::fma(q[c], k[c], s);
    scores.push_back(s);
    part.m = std::max(part.m, s);
  }
  std::vector<float> lanes(16, 0.0f);
  for (size_t j = begin; j < end; ++j) {
    const float p = exp_f32(scores[j - begin] - part.m);
    lanes[(j - page) % 16] += p;
    const std::vector<float> v = value(j);
    for (size_t c = 0; c < q.size(); ++c) part.o[c] = std::fma(p, v[c], part.o[c]);
  }
  part.l = tree_sum(lanes);
  return part;
}

}  // namespace

std::vector<float> plain_attention(
    std::span<const float> query, const RowAt& key, const RowAt& value, size_t begin, size_t end) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(query.size()));
  std::vector<float> q(query.begin(), query.end());
  for (float& x : q) x *= scale;
  Partial all{.o = std::vector<float>(q.size(), 0.0f)};
  for (size_t page = begin / kPage * kPage; page < end; page += kPage) {
    const Partial part =
        plain_page(q, key, value, page, std::max(begin, page), std::min(end, page + kPage));
    const float m = std::max(all.m, part.m);
    const float a = exp_f32(all.m - m), b = exp_f32(part.m - m);
    all.l = std::fma(all.l, a, part.l * b);
    for (size_t c = 0; c < q.size(); ++c) all.o[c] = std::fma(all.o[c], a, part.o[c] * b);
    all.m = m;
  }
  const float inverse = 1.0f / all.l;
  for (float& x : all.o) x *= inverse;
  return all.o;
}

std::vector<double> exact_attention(
    std::span<const float> query, const RowAt& key, const RowAt& value, size_t begin, size_t end) {
  std::vector<double> scores, out(query.size(), 0.0);
  for (size_t j = begin; j < end; ++j) {
    const std::vector<float> k = key(j);
    double s = 0;
    for (size_t c = 0; c < query.size(); ++c) {
      s += static_cast<double>(query[c]) * static_cast<double>(k[c]);
    }
    scores.push_back(s / std::sqrt(static_cast<double>(query.size())));
  }
  const double m = *std::ranges::max_element(scores);
  double l = 0;
  for (double& s : scores) l += (s = std::exp(s - m));
  for (size_t j = begin; j < end; ++j) {
    const std::vector<float> v = value(j);
    for (size_t c = 0; c < query.size(); ++c) {
      out[c] += scores[j - begin] / l * static_cast<double>(v[c]);
    }
  }
  return out;
}

}  // namespace maglio::test

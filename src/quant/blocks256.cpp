#include "quant/blocks256.h"

#include <algorithm>
#include <cmath>

#include "quant/unpack.h"

namespace maglio {
namespace {

template <class Block>
void dequantize_affine(const Block& block, float* out) {
  uint8_t u[kSuperValues];
  uint8_t sc[kSubBlocks];
  uint8_t mn[kSubBlocks];
  unpack_integers(block, u);
  unpack_scales(block.scales, sc, mn);
  const float d = to_float(block.d);
  const float dmin = to_float(block.dmin);
  for (int s = 0; s < kSubBlocks; ++s) {
    const float scale = d * static_cast<float>(sc[s]);
    const float offset = dmin * static_cast<float>(mn[s]);
    for (int i = 32 * s; i < 32 * (s + 1); ++i) out[i] = scale * static_cast<float>(u[i]) - offset;
  }
}

int round_clamped(float x, int low, int high) {
  return static_cast<int>(
      std::clamp(std::nearbyint(x), static_cast<float>(low), static_cast<float>(high)));
}

// x ~ scale * u - offset with u in [0, levels]; scale and offset not negative.
struct AffineFit {
  float scale = 0;
  float offset = 0;
};

// Sums of a weighted least-squares line through (u_i, x_i); large values weigh more.
struct LineSums {
  double w = 0, u = 0, x = 0, uu = 0, ux = 0, xx = 0;

  void add(double weight, double ui, double xi) {
    w += weight;
    u += weight * ui;
    x += weight * xi;
    uu += weight * ui * ui;
    ux += weight * ui * xi;
    xx += weight * xi * xi;
  }
  // The best line with a negative or zero intercept.
  AffineFit solve() const {
    const double det = w * uu - u * u;
    double scale = det > 0 ? (w * ux - u * x) / det : 0;
    double intercept = det > 0 ? (uu * x - u * ux) / det : 0;
    if (intercept > 0 || det <= 0) {
      intercept = 0;
      scale = uu > 0 ? ux / uu : 0;
    }
    return {static_cast<float>(std::max(scale, 0.0)), static_cast<float>(-intercept)};
  }
  double error(AffineFit f) const {
    const double s = f.scale;
    const double o = f.offset;
    return s * s * uu + o * o * w + xx - 2 * s * o * u - 2 * s * ux + 2 * o * x;
  }
};

AffineFit fit_affine(const float* x, int levels) {
  float low = 0;
  float high = x[0];
  float mean_square = 0;
  for (int i = 0; i < 32; ++i) {
    low = std::min(low, x[i]);
    high = std::max(high, x[i]);
    mean_square += x[i] * x[i] / 32;
  }
  if (!(high > low)) return {0, -low};
  AffineFit best{(high - low) / static_cast<float>(levels), -low};
  double best_error = HUGE_VAL;
  for (int step = -10; step <= 10; ++step) {
    const float inverse =
        (static_cast<float>(levels) + 0.1f * static_cast<float>(step)) / (high - low);
    LineSums sums;
    for (int i = 0; i < 32; ++i) {
      const int u = round_clamped(inverse * (x[i] - low), 0, levels);
      sums.add(std::sqrt(mean_square) + std::fabs(x[i]), u, x[i]);
    }
    const AffineFit fit = sums.solve();
    const double error = sums.error(fit);
    if (error < best_error) {
      best_error = error;
      best = fit;
    }
  }
  return best;
}

// d and the 6-bit integers closest to scale_s / d. Returns d as it is stored.
Half round_scales(const float* scales, uint8_t* integers) {
  const float largest = *std::max_element(scales, scales + kSubBlocks);
  const Half d = to_half(largest / 63);
  const float step = to_float(d);
  for (int s = 0; s < kSubBlocks; ++s) {
    integers[s] = static_cast<uint8_t>(step > 0 ? round_clamped(scales[s] / step, 0, 63) : 0);
  }
  return d;
}

template <class Block>
void quantize_affine(const float* values, int levels, Block& block, uint8_t* u) {
  float scales[kSubBlocks];
  float offsets[kSubBlocks];
  for (int s = 0; s < kSubBlocks; ++s) {
    const AffineFit fit = fit_affine(values + 32 * s, levels);
    scales[s] = fit.scale;
    offsets[s] = fit.offset;
  }
  uint8_t sc[kSubBlocks];
  uint8_t mn[kSubBlocks];
  block.d = round_scales(scales, sc);
  block.dmin = round_scales(offsets, mn);
  pack_scales(sc, mn, block.scales);
  for (int i = 0; i < kSuperValues; ++i) {
    const float scale = to_float(block.d) * static_cast<float>(sc[i / 32]);
    const float offset = to_float(block.dmin) * static_cast<float>(mn[i / 32]);
    u[i] = static_cast<uint8_t>(scale > 0 ? round_clamped((values[i] + offset) / scale, 0, levels)
                                          : 0);
  }
}

void pack_runs(const uint8_t* u, uint8_t* bytes) {
  for (int run = 0; run < 4; ++run) {
    for (int i = 0; i < 32; ++i) {
      const int low = u[64 * run + i] & 0x0f;
      const int high = u[64 * run + 32 + i] & 0x0f;
      bytes[32 * run + i] = static_cast<uint8_t>(low | (high << 4));
    }
  }
}

// The scale of 16 values x ~ scale * q, q in [-32, 31]; of either sign. Large values weigh more.
float fit_centred(const float* x) {
  float extreme = 0;
  for (int i = 0; i < 16; ++i) {
    if (std::fabs(x[i]) > std::fabs(extreme)) extreme = x[i];
  }
  if (std::fabs(extreme) < 1e-15f) return 0;
  double best_gain = -1;
  double best_scale = 0;
  for (int step = -9; step <= 9; ++step) {
    const float inverse = -(32 + 0.1f * static_cast<float>(step)) / extreme;
    double xq = 0;
    double qq = 0;
    for (int i = 0; i < 16; ++i) {
      const double weight = static_cast<double>(x[i]) * x[i];
      const int q = round_clamped(inverse * x[i], -32, 31);
      xq += weight * x[i] * q;
      qq += weight * q * q;
    }
    if (qq > 0 && xq * xq / qq > best_gain) {
      best_gain = xq * xq / qq;
      best_scale = xq / qq;
    }
  }
  return static_cast<float>(best_scale);
}

}  // namespace

void dequantize(const BlockQ4_K& block, float* out) {
  dequantize_affine(block, out);
}

void dequantize(const BlockQ5_K& block, float* out) {
  dequantize_affine(block, out);
}

void dequantize(const BlockQ6_K& block, float* out) {
  uint8_t u[kSuperValues];
  unpack_integers(block, u);
  const float d = to_float(block.d);
  for (int i = 0; i < kSuperValues; ++i) {
    out[i] = d * static_cast<float>(block.sc[i / 16]) * static_cast<float>(u[i] - 32);
  }
}

void quantize(const float* values, BlockQ4_K& block) {
  uint8_t u[kSuperValues];
  quantize_affine(values, 15, block, u);
  pack_runs(u, block.u);
}

void quantize(const float* values, BlockQ5_K& block) {
  uint8_t u[kSuperValues];
  quantize_affine(values, 31, block, u);
  pack_runs(u, block.u);
  for (int i = 0; i < 32; ++i) {
    int bits = 0;
    for (int s = 0; s < kSubBlocks; ++s) bits |= (u[32 * s + i] >> 4) << s;
    block.high[i] = static_cast<uint8_t>(bits);
  }
}

void quantize(const float* values, BlockQ6_K& block) {
  float scales[16];
  float extreme = 0;
  for (int t = 0; t < 16; ++t) {
    scales[t] = fit_centred(values + 16 * t);
    if (std::fabs(scales[t]) > std::fabs(extreme)) extreme = scales[t];
  }
  block.d = to_half(extreme / -128);  // the extreme scale takes the side with one integer more
  const float d = to_float(block.d);
  uint8_t u[kSuperValues];
  for (int t = 0; t < 16; ++t) {
    block.sc[t] = static_cast<int8_t>(d != 0 ? round_clamped(scales[t] / d, -128, 127) : 0);
    const float scale = d * static_cast<float>(block.sc[t]);
    for (int i = 16 * t; i < 16 * (t + 1); ++i) {
      u[i] = static_cast<uint8_t>(scale != 0 ? round_clamped(values[i] / scale, -32, 31) + 32 : 32);
    }
  }
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 32; ++i) {
      const uint8_t* q = u + 128 * half + i;  // quarters at q[0], q[32], q[64], q[96]
      const auto low = [&](int a, int b) {
        return static_cast<uint8_t>((q[a] & 0x0f) | ((q[b] & 0x0f) << 4));
      };
      block.low[64 * half + i] = low(0, 64);
      block.low[64 * half + 32 + i] = low(32, 96);
      block.high[32 * half + i] = static_cast<uint8_t>((q[0] >> 4) | ((q[32] >> 4) << 2) |
                                                       ((q[64] >> 4) << 4) | ((q[96] >> 4) << 6));
    }
  }
}

}  // namespace maglio

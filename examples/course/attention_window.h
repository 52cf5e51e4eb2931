// Exercise 5 of the chapter, "A window into attention": what a model loses when each token sees
// only the last W positions.
//
// The cache needs no change for it: it has no window logic, the kernel applies the window where it
// reads. From the command line the same is measured by
//
//   maglio run MODEL --prompt-file TEXT --logits-out full.f32
//   maglio run MODEL --prompt-file TEXT --attn-window W --compare-logits full.f32
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "model/transformer.h"

namespace maglio::course {

struct WindowError {
  size_t window;
  double relative_rms;  // of the last token's logits, in standard deviations of the full ones
};

// Loads the model with a window of so many positions; 0: all.
using LoadWithWindow = std::function<Transformer(size_t window)>;

inline std::vector<WindowError> measure_windows(const LoadWithWindow& load,
                                                std::span<const int32_t> prompt,
                                                std::span<const size_t> windows) {
  const auto last_logits = [&](size_t window) {
    Transformer model = load(window);
    const auto logits = model.forward_last_logits(prompt);
    return std::vector<float>(logits.begin(), logits.end());
  };
  const std::vector<float> full = last_logits(0);
  const auto n = static_cast<double>(full.size());
  double mean = 0, variance = 0;
  for (const float x : full) mean += x / n;
  for (const float x : full) variance += (x - mean) * (x - mean) / n;

  std::vector<WindowError> errors;
  for (const size_t window : windows) {
    const std::vector<float> limited = last_logits(window);
    double square = 0;
    for (size_t i = 0; i < full.size(); ++i) square += std::pow(double{limited[i]} - full[i], 2);
    errors.push_back({window, std::sqrt(square / n / variance)});
  }
  return errors;
}

}  // namespace maglio::course

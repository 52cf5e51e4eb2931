// What choosing a token costs over the whole vocabulary (Qwen3: 151,936), greedy and sampled.
#include "decode/sampler.h"

#include <benchmark/benchmark.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/registry.h"

namespace {

constexpr size_t kVocab = 151936;

// peaked: like a model's, most of the probability on a few tokens; flat: normal noise, where
// thousands of tokens take part.
std::vector<float> logits(bool peaked) {
  std::mt19937 random(1);
  std::normal_distribution<float> noise(0.0f, peaked ? 2.0f : 1.0f);
  std::vector<float> values(kVocab);
  for (float& v : values) v = noise(random);
  if (peaked) {
    for (size_t i = 0; i < 20; ++i)
      values[random() % kVocab] = 14.0f - 0.3f * static_cast<float>(i);
  }
  return values;
}

void sample(benchmark::State& state, const maglio::SamplerConfig& config, bool peaked) {
  const std::vector<float> original = logits(peaked);
  std::vector<int32_t> history(4096);
  std::mt19937 random(2);
  for (int32_t& id : history) id = static_cast<int32_t>(random() % kVocab);
  maglio::Sampler sampler(config, maglio::active_kernels());
  std::vector<float> copy(kVocab);
  for (auto _ : state) {
    copy = original;  // next() consumes them
    benchmark::DoNotOptimize(sampler.next(copy, history));
  }
}

// clang-format off
BENCHMARK_CAPTURE(sample, greedy_peaked,            (maglio::SamplerConfig{}), true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sample, chat_peaked,              (maglio::SamplerConfig{.temperature = 0.6f, .top_k = 20, .top_p = 0.95f}), true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sample, chat_flat,                (maglio::SamplerConfig{.temperature = 0.6f, .top_k = 20, .top_p = 0.95f}), false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sample, top_k_5000_flat,          (maglio::SamplerConfig{.temperature = 1, .top_k = 5000, .top_p = 0.95f}), false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sample, no_top_k_top_p_95_peaked, (maglio::SamplerConfig{.temperature = 1, .top_p = 0.95f}), true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sample, no_top_k_top_p_95_flat,   (maglio::SamplerConfig{.temperature = 1, .top_p = 0.95f}), false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sample, everything_on_flat,       (maglio::SamplerConfig{.temperature = 1, .top_p = 0.95f, .min_p = 0.01f, .repeat_penalty = 1.1f, .frequency_penalty = 0.1f, .repeat_last_n = 4096}), false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sample, nothing_cut_flat,         (maglio::SamplerConfig{.temperature = 1}), false)->Unit(benchmark::kMillisecond);
// clang-format on

}  // namespace

BENCHMARK_MAIN();

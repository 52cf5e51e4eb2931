// Same model, same tokens: the same bits. Every comparison in this file is ==.
#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/registry.h"
#include "support/loaded_model.h"

namespace maglio {
namespace {

using test::all_logits;
using test::copy_rows;
using test::LoadedModel;
using test::random_prompt;
using test::Rows;
using test::SyntheticModel;

constexpr DType kFormats[] = {DType::F32,  DType::F16,  DType::BF16, DType::Q8_0,
                              DType::Q4_0, DType::Q4_1, DType::Q5_0, DType::Q5_1,
                              DType::Q4_K, DType::Q5_K, DType::Q6_K};

Config geometry(size_t n_heads, size_t n_kv_heads, size_t head_dim) {
  Config c = test::tiny_config(Architecture::qwen3);
  c.n_heads = n_heads;
  c.n_kv_heads = n_kv_heads;
  c.head_dim = head_dim;
  return c;
}

// As llama.cpp writes Q4_K_M: values and the way down finer than the rest.
std::optional<DType> q4_k_m(std::string_view name) {
  const bool finer = name.ends_with("attn_v.weight") || name.ends_with("ffn_down.weight") ||
                     name.ends_with("ffn_down_exps.weight");
  return finer ? DType::Q6_K : DType::Q4_K;
}

TEST(Equality, AnyDivisionOfAPromptIntoSpans) {
  LoadedModel model({.config = test::tiny_config(Architecture::qwen3)});
  const auto prompt = random_prompt(131, 320);
  for (const CacheType type : {CacheType::f16, CacheType::q8_0}) {
    const Rows whole = all_logits(model.transformer, prompt, prompt.size(), type);
    for (const size_t length : {1, 3, 7, 64, 65}) {
      EXPECT_EQ(all_logits(model.transformer, prompt, length, type), whole) << length;
    }
  }
}

TEST(Equality, EveryFormatTokenByTokenAndAtOnce) {
  const auto prompt = random_prompt(21, 320);
  for (const DType format : kFormats) {
    LoadedModel model({.config = test::tiny_k_config(Architecture::qwen3), .format = format});
    EXPECT_EQ(all_logits(model.transformer, prompt, 1),
              all_logits(model.transformer, prompt, prompt.size()))
        << to_string(format);
  }
}

TEST(Equality, WeightsInTheFileAndPackedOnes) {
  const auto prompt = random_prompt(21, 320);
  for (const bool tied : {true, false}) {
    for (const DType format : kFormats) {
      LoadedModel model({.config = test::tiny_k_config(Architecture::qwen3),
                         .format = format,
                         .tied_head = tied});
      const Rows packed = all_logits(model.transformer, prompt, prompt.size());
      for (const size_t n_threads : {1, 2, 3}) {
        Transformer mapped =
            model.again({.n_threads = n_threads, .weights = WeightStorage::mapped});
        EXPECT_EQ(all_logits(mapped, prompt, prompt.size()), packed) << to_string(format);
        EXPECT_EQ(all_logits(mapped, prompt, 1), packed) << to_string(format);
      }
    }
  }
}

void expect_a_mixtures_equality(Architecture architecture) {
  const auto prompt = random_prompt(70, 320);
  for (const DType format : {DType::F16, DType::Q8_0, DType::Q4_K, DType::Q6_K}) {
    LoadedModel model({.config = test::tiny_k_config(architecture), .format = format});
    const Rows whole = all_logits(model.transformer, prompt, prompt.size());
    for (const size_t length : {1, 3, 65}) {
      EXPECT_EQ(all_logits(model.transformer, prompt, length), whole) << length;
    }
    for (const size_t n_threads : {1, 2, 3, 5}) {
      for (const auto storage : {WeightStorage::packed, WeightStorage::mapped}) {
        Transformer again = model.again({.n_threads = n_threads, .weights = storage});
        EXPECT_EQ(all_logits(again, prompt, prompt.size()), whole) << to_string(format);
      }
    }
    Transformer beside = model.again({.experts = WeightStorage::mapped});
    EXPECT_EQ(all_logits(beside, prompt, 7), whole) << "mapped experts, the rest packed";
    Transformer all = model.again({.expert_top_p = 1.0f});
    EXPECT_EQ(all_logits(all, prompt, 7), whole);
    Transformer fewer = model.again({.expert_top_p = 0.5f});
    const Rows of_fewer = all_logits(fewer, prompt, 7);
    EXPECT_NE(of_fewer, whole) << "top_p drops experts";
    EXPECT_EQ(all_logits(fewer, prompt, prompt.size()), of_fewer);
  }
}

TEST(Equality, MixturesInAnySpansOnAnyThreadsPackedOrInTheFile) {
  expect_a_mixtures_equality(Architecture::qwen3moe);
}

TEST(Equality, AndMixturesWithASharedExpert) {
  expect_a_mixtures_equality(Architecture::qwen2moe);
}

// The first pass of such a prompt wants no logits: nothing of it goes to an expert of the last
// layer.
TEST(Equality, AMixturesPromptOfSeveralPasses) {
  LoadedModel model({.config = test::tiny_config(Architecture::qwen3moe)});
  const auto prompt = random_prompt(600, 320);
  const Rows all = all_logits(model.transformer, prompt, prompt.size());
  KvCache cache = model.transformer.new_cache(prompt.size());
  const auto last = model.transformer.forward_step(cache, prompt, 0);
  EXPECT_TRUE(std::ranges::equal(last, all.back()));
}

TEST(Equality, MixedFormatsTokenByTokenAndAtOnce) {
  const auto prompt = random_prompt(21, 320);
  LoadedModel model({.config = test::tiny_k_config(Architecture::llama), .format_of = q4_k_m});
  EXPECT_EQ(all_logits(model.transformer, prompt, 1),
            all_logits(model.transformer, prompt, prompt.size()));
}

TEST(Equality, HeadRatios) {
  const auto prompt = random_prompt(70, 320);
  for (const auto& [n_heads, n_kv_heads] : {std::pair(9, 3), std::pair(16, 8), std::pair(64, 4)}) {
    const Config c = geometry(static_cast<size_t>(n_heads), static_cast<size_t>(n_kv_heads), 32);
    LoadedModel model({.config = c});
    const Rows whole = all_logits(model.transformer, prompt, prompt.size());
    EXPECT_EQ(all_logits(model.transformer, prompt, 9), whole) << n_heads;
  }
}

TEST(Equality, PromptsAroundAPageOfKeys) {
  LoadedModel model({.config = test::tiny_config(Architecture::llama)});
  for (const size_t n : {63, 64, 65, 128, 129}) {
    const auto prompt = random_prompt(n, 320);
    KvCache cache = model.transformer.new_cache(n);
    std::vector<float> stepped;
    for (size_t i = 0; i < n; ++i) {
      const auto logits = model.transformer.forward_step(cache, std::span(prompt).subspan(i, 1), i);
      stepped.assign(logits.begin(), logits.end());
    }
    KvCache fresh = model.transformer.new_cache(n);
    const auto at_once = model.transformer.forward_step(fresh, prompt, 0);
    EXPECT_EQ(stepped, std::vector<float>(at_once.begin(), at_once.end())) << n;
  }
}

TEST(Equality, APromptOf4097TokensInOneSpanAndInSeven) {
  Config c = test::tiny_config(Architecture::qwen3);
  c.d_model = 64;
  c.d_ff = 64;
  LoadedModel model({.config = c});
  const auto prompt = random_prompt(4097, 320);
  KvCache whole = model.transformer.new_cache(4097);
  const auto expected =
      copy_rows(model.transformer.forward({{{.cache = &whole, .position = 0, .ids = prompt}}}));
  KvCache parts = model.transformer.new_cache(4097);
  Rows last;
  for (size_t at = 0; at < prompt.size();) {
    const size_t n = std::min<size_t>(640, prompt.size() - at);
    last = copy_rows(model.transformer.forward(
        {{{.cache = &parts, .position = at, .ids = std::span(prompt).subspan(at, n)}}}));
    at += n;
  }
  EXPECT_EQ(last, expected);
}

void expect_a_batch_equals_each_alone(LoadedModel& model) {
  std::vector<KvCache> together, alone;
  std::vector<std::vector<int32_t>> prompts;
  std::vector<Span> batch;
  for (const size_t n : {5, 70, 1, 64}) {
    prompts.push_back(random_prompt(n, 320, n));
    together.push_back(model.transformer.new_cache(100));
    alone.push_back(model.transformer.new_cache(100));
  }
  for (size_t i = 0; i < 4; ++i) batch.push_back({.cache = &together[i], .ids = prompts[i]});
  const Rows prefilled = copy_rows(model.transformer.forward(batch));
  for (size_t i = 0; i < 4; ++i) {
    const auto logits = model.transformer.forward_step(alone[i], prompts[i], 0);
    EXPECT_EQ(std::vector<float>(logits.begin(), logits.end()), prefilled[i]) << i;
  }
  // And a step of one token each.
  std::vector<KvCache*> caches;
  for (KvCache& cache : together) caches.push_back(&cache);
  const std::vector<int32_t> next = {7, 8, 9, 10};
  const Rows stepped = copy_rows(model.transformer.forward_step_batch(caches, next));
  for (size_t i = 0; i < 4; ++i) {
    const auto logits =
        model.transformer.forward_step(alone[i], std::span(next).subspan(i, 1), alone[i].length());
    EXPECT_EQ(std::vector<float>(logits.begin(), logits.end()), stepped[i]) << i;
  }
}

TEST(Equality, ABatchOfStreamsAndEachAlone) {
  LoadedModel dense({.config = test::tiny_config(Architecture::qwen3)});
  expect_a_batch_equals_each_alone(dense);
}

TEST(Equality, ABatchOfAMixturesStreamsAndEachAlone) {
  LoadedModel mixture({.config = test::tiny_config(Architecture::qwen3moe)});
  expect_a_batch_equals_each_alone(mixture);
  LoadedModel shared({.config = test::tiny_config(Architecture::qwen2moe)});
  expect_a_batch_equals_each_alone(shared);
}

TEST(Equality, AnyNumberOfThreadsAndAnyInstructionSet) {
  const auto prompt = random_prompt(67, 320);
  const SyntheticModel files[] = {
      {.config = test::tiny_k_config(Architecture::qwen3)},
      {.config = test::tiny_k_config(Architecture::qwen3), .format_of = q4_k_m},
      {.config = test::tiny_k_config(Architecture::qwen3moe), .format_of = q4_k_m},
      {.config = test::tiny_k_config(Architecture::qwen2moe), .format_of = q4_k_m},
  };
  for (const SyntheticModel& file : files) {
    LoadedModel model(file, {.n_threads = 1});
    const Rows expected = all_logits(model.transformer, prompt, prompt.size());
    for (const Kernels* kernels : available_kernels()) {
      for (const size_t n_threads : {1, 2, 5}) {
        Transformer other = model.again({.n_threads = n_threads, .isa = kernels->name});
        EXPECT_EQ(all_logits(other, prompt, 33), expected) << kernels->name << " " << n_threads;
      }
    }
  }
}

TEST(Equality, WhateverTheCallersThreadRoundsTo) {
  LoadedModel model({.config = test::tiny_config(Architecture::qwen3)}, {.n_threads = 1});
  const auto prompt = random_prompt(21, 320);
  const Rows expected = all_logits(model.transformer, prompt, prompt.size());
  std::fesetround(FE_UPWARD);
  const Rows rows = all_logits(model.transformer, prompt, prompt.size());
  const int after = std::fegetround();
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(rows, expected);
  EXPECT_EQ(after, FE_UPWARD) << "the caller's rounding is the caller's again";
}

TEST(Equality, EveryFormatOnEveryInstructionSet) {
  const auto prompt = random_prompt(9, 320);
  for (const DType format : kFormats) {
    LoadedModel model({.config = test::tiny_k_config(Architecture::llama), .format = format},
                      {.n_threads = 2, .isa = "scalar"});
    const Rows expected = all_logits(model.transformer, prompt, 4);
    for (const Kernels* kernels : available_kernels()) {
      Transformer other = model.again({.n_threads = 2, .isa = kernels->name});
      EXPECT_EQ(all_logits(other, prompt, prompt.size()), expected)
          << kernels->name << " " << to_string(format);
    }
  }
}

TEST(Equality, TruncateAndReplayIsTheStraightWay) {
  LoadedModel model({.config = test::tiny_config(Architecture::qwen3)});
  const auto prompt = random_prompt(100, 320);
  const auto detour = random_prompt(60, 320, 2);
  for (const CacheType type : {CacheType::f16, CacheType::q8_0}) {
    const Rows straight = all_logits(model.transformer, prompt, prompt.size(), type);
    for (const size_t keep : {0, 1, 37, 63, 64, 65}) {
      KvCache cache = model.transformer.new_cache(200, type);
      model.transformer.forward_step(cache, std::span(prompt).first(70), 0);
      model.transformer.forward_step(cache, detour, 70);
      cache.truncate(keep);
      const Rows replayed = copy_rows(
          model.transformer.forward_step_all_logits(cache, std::span(prompt).subspan(keep), keep));
      EXPECT_EQ(replayed, Rows(straight.begin() + static_cast<ptrdiff_t>(keep), straight.end()));
    }
  }
}

TEST(Equality, CachedAndCacheless) {
  LoadedModel model({.config = test::tiny_config(Architecture::llama)});
  const auto prompt = random_prompt(80, 320);
  for (const CacheType type : {CacheType::f16, CacheType::q8_0}) {
    KvCache cache = model.transformer.new_cache(prompt.size(), type);
    for (size_t i = 0; i < prompt.size(); ++i) {
      const auto step = model.transformer.forward_step(cache, std::span(prompt).subspan(i, 1), i);
      const std::vector<float> cached(step.begin(), step.end());
      if (i % 13 != 0) continue;
      const auto whole =
          model.transformer.forward_last_logits(std::span(prompt).first(i + 1), type);
      EXPECT_EQ(cached, std::vector<float>(whole.begin(), whole.end())) << i;
    }
  }
}

TEST(Equality, LastRowAloneAndAmongAll) {
  LoadedModel model({.config = test::tiny_config(Architecture::qwen2), .biases = true});
  const auto prompt = random_prompt(33, 320);
  const Rows all = all_logits(model.transformer, prompt, prompt.size());
  const auto last = model.transformer.forward_last_logits(prompt);
  EXPECT_EQ(std::vector<float>(last.begin(), last.end()), all.back());
}

}  // namespace
}  // namespace maglio

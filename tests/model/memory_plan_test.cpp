// What fits in made-up amounts of memory.
#include "model/memory_plan.h"

#include <gtest/gtest.h>

#include "kernels/registry.h"
#include "model/kv_cache.h"
#include "support/loaded_model.h"

namespace maglio {
namespace {

using enum WeightStorage;

constexpr uint64_t kMega = 1'000'000;

// A mixture of 17 GB, of which a gigabyte is not experts; 100 kB and 53 kB a position, 40,000 of
// them.
constexpr ModelSizes kMixture{.experts = {.packed = 16'000 * kMega, .in_file = 15'500 * kMega},
                              .rest = {.packed = 1'000 * kMega, .in_file = 900 * kMega},
                              .f16_position = 100'000,
                              .q8_0_position = 53'000,
                              .n_ctx = 40'000,
                              .experts_of_token = 1'000 * kMega};
constexpr ModelSizes kDense{.experts = {},
                            .rest = {.packed = 1'000 * kMega, .in_file = 900 * kMega},
                            .f16_position = 100'000,
                            .q8_0_position = 53'000,
                            .n_ctx = 40'000,
                            .experts_of_token = 0};

// The memory of which nine tenths are so much.
uint64_t available_for(uint64_t bytes) {
  return (bytes + 8) / 9 * 10;
}

TEST(MemoryPlan, WhereThereIsRoomForAllNothingIsGivenUp) {
  const auto plan = fit_memory(kMixture, available_for(21'000 * kMega));
  EXPECT_EQ(plan, (MemoryPlan{.weights = packed,
                              .experts = packed,
                              .cache = CacheType::f16,
                              .context = 40'000,
                              .weight_bytes = 17'000 * kMega,
                              .kv_bytes = 4'000 * kMega}));
}

TEST(MemoryPlan, TheTypeOfTheCacheGoesBeforeContextAndContextBeforePackedWeights) {
  // A byte less, and keys and values in f16 have no room.
  const auto smaller_cache = fit_memory(kMixture, available_for(21'000 * kMega) - 10);
  ASSERT_TRUE(smaller_cache);
  EXPECT_EQ(smaller_cache->cache, CacheType::q8_0);
  EXPECT_EQ(smaller_cache->context, 40'000u);
  const auto less_context = fit_memory(kMixture, available_for(18'000 * kMega));
  ASSERT_TRUE(less_context);
  EXPECT_EQ(less_context->experts, packed);
  EXPECT_EQ(less_context->cache, CacheType::q8_0);
  EXPECT_EQ(less_context->context, 1'000 * kMega / 53'000 / 64 * 64);
  // 8192 positions of 53 kB are 434 MB: with less, the experts go.
  const auto enough = fit_memory(kMixture, available_for(17'435 * kMega));
  const auto too_little = fit_memory(kMixture, available_for(17'430 * kMega));
  ASSERT_TRUE(enough && too_little);
  EXPECT_EQ(enough->experts, packed);
  EXPECT_EQ(too_little->experts, mapped);
  EXPECT_EQ(too_little->weights, packed);
  EXPECT_EQ(too_little->cache, CacheType::f16);
  EXPECT_EQ(too_little->context, 40'000u);
  EXPECT_GT(too_little->expert_cache_bytes, 0u);
}

constexpr uint64_t kMebi = uint64_t{1} << 20;

TEST(MemoryPlan, ExpertsOnDemandGetWhatIsLeftWhereThoseOfATokenFit) {
  const auto plan = fit_memory(kMixture, available_for(8'000 * kMega));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->weights, packed);
  EXPECT_EQ(plan->experts, mapped);
  EXPECT_EQ(plan->cache, CacheType::q8_0) << "4 GB in f16 would be more than half of what is left";
  EXPECT_EQ(plan->context, 40'000u);
  EXPECT_EQ(plan->expert_cache_bytes, (7'000 - 2'120) * kMega / kMebi * kMebi);
  EXPECT_EQ(plan->weight_bytes, 1'000 * kMega + plan->expert_cache_bytes);
  EXPECT_LE(plan->bytes(), 8'000 * kMega);
  // Whoever wishes them mapped gets them mapped.
  const auto wished = fit_memory(kMixture, available_for(8'000 * kMega), {.experts = mapped});
  ASSERT_TRUE(wished);
  EXPECT_EQ(wished->expert_cache_bytes, 0u);
  EXPECT_EQ(wished->weight_bytes, 1'000 * kMega);
  // A megabyte beside a token's gigabyte of experts is no room for a context.
  const auto barely = fit_memory(kMixture, available_for(2'001 * kMega));
  ASSERT_TRUE(barely);
  EXPECT_EQ(barely->expert_cache_bytes, 0u);
}

TEST(MemoryPlan, BesideWeightsInTheFileKeysAndValuesTakeHalfAtMost) {
  const auto plan = fit_memory(kMixture, 2'000 * kMega);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->weights, packed);
  EXPECT_EQ(plan->experts, mapped);
  EXPECT_EQ(plan->cache, CacheType::q8_0);
  EXPECT_EQ(plan->context, 800 * kMega / 53'000 / 64 * 64) << "nine tenths less the rest";
  const auto all_mapped = fit_memory(kMixture, 1'000 * kMega);
  ASSERT_TRUE(all_mapped);
  EXPECT_EQ(all_mapped->weights, mapped);
  EXPECT_EQ(all_mapped->weight_bytes, 0u);
  EXPECT_EQ(all_mapped->context, 500 * kMega / 53'000 / 64 * 64);
}

TEST(MemoryPlan, WhatIsWishedForStays) {
  const uint64_t much = 100'000 * kMega;
  EXPECT_EQ(fit_memory(kMixture, much, {.experts = mapped})->experts, mapped);
  EXPECT_EQ(fit_memory(kMixture, much, {.weights = mapped, .experts = packed})->experts, mapped)
      << "experts are never packed beside a mapped rest";
  EXPECT_EQ(fit_memory(kMixture, much, {.cache = CacheType::q8_0})->cache, CacheType::q8_0);
  EXPECT_EQ(fit_memory(kMixture, much, {.context = 100})->context, 100u);
  EXPECT_EQ(fit_memory(kMixture, much, {.context = 100'000})->kv_bytes, 10'000 * kMega)
      << "more than the model was trained for, as asked";
  // Packed weights at any price, even of context.
  const auto tight = fit_memory(kDense, available_for(1'010 * kMega), {.weights = packed});
  ASSERT_TRUE(tight);
  EXPECT_EQ(tight->weights, packed);
  EXPECT_EQ(tight->context, 10 * kMega / 53'000 / 64 * 64);
}

TEST(MemoryPlan, AContextThatIsAskedForFitsWholeOrNotAtAll) {
  const uint64_t available = available_for(1'000 * kMega + 1'000 * kMega);
  EXPECT_EQ(fit_memory(kDense, available, {.context = 10'000})->cache, CacheType::f16);
  EXPECT_EQ(fit_memory(kDense, available, {.context = 10'001})->cache, CacheType::q8_0);
  EXPECT_EQ(fit_memory(kDense, available, {.cache = CacheType::f16, .context = 10'001})->weights,
            mapped);
  EXPECT_FALSE(fit_memory(kDense, available, {.context = 1'000'000}));
  EXPECT_FALSE(fit_memory(kDense, available, {.context = SIZE_MAX}));
}

TEST(MemoryPlan, EverySequenceHasAContextOfItsOwn) {
  const uint64_t available = available_for(1'000 * kMega + 8 * 1'000 * kMega);
  const auto plan = fit_memory(kDense, available, {.context = 10'000, .n_sequences = 8});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->cache, CacheType::f16);
  EXPECT_EQ(plan->kv_bytes, 8'000 * kMega);
  EXPECT_EQ(fit_memory(kDense, available, {.context = 10'000, .n_sequences = 9})->cache,
            CacheType::q8_0);
}

TEST(MemoryPlan, WithoutRoomForAPageOfPositionsNothingFits) {
  EXPECT_FALSE(fit_memory(kDense, 0));
  EXPECT_FALSE(fit_memory(kDense, 2 * (64 * 53'000 - 1)));
  EXPECT_EQ(fit_memory(kDense, 2 * 64 * 53'000)->context, 64u);
}

TEST(MemoryPlan, HeadsThatFitNoBlocksHaveNoSmallerCache) {
  ModelSizes sizes = kDense;
  sizes.q8_0_position = 0;
  const auto plan = fit_memory(sizes, available_for(2'000 * kMega));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->cache, CacheType::f16);
  EXPECT_EQ(plan->context, 10'000u / 64 * 64);
  EXPECT_FALSE(fit_memory(sizes, 100'000 * kMega, {.cache = CacheType::q8_0}));
  EXPECT_EQ(memory_plans(sizes, 100'000 * kMega).size(), 2u);
}

TEST(MemoryPlan, EveryWayIsListedTheFastestFirstWithNoContextWhereItsWeightsDoNotFit) {
  const auto plans = memory_plans(kMixture, 2'000 * kMega);
  ASSERT_EQ(plans.size(), 6u);
  EXPECT_EQ(plans[0].experts, packed);
  EXPECT_EQ(plans[0].context, 0u);
  EXPECT_EQ(plans[2].experts, mapped);
  EXPECT_EQ(plans[2].cache, CacheType::f16);
  EXPECT_EQ(plans[2].context, 8'000u / 64 * 64);
  EXPECT_EQ(plans[5].weights, mapped);
  EXPECT_EQ(plans[5].context, 1'000 * kMega / 53'000 / 64 * 64);
}

// The sizes are what loading then takes.
TEST(MemoryPlan, SizesAreThoseOfTheLoadedModel) {
  for (const auto architecture : {Architecture::qwen3, Architecture::qwen3moe}) {
    const test::LoadedModel model({.config = test::tiny_config(architecture), .tied_head = false},
                                  {.weights = packed});
    const Transformer& t = model.transformer;
    const ModelSizes sizes = sizes_of(model.file(), t.config(), t.kernels());
    EXPECT_EQ(sizes.experts.packed, t.expert_bytes());
    EXPECT_EQ(sizes.experts.packed + sizes.rest.packed, t.weight_bytes());
    EXPECT_EQ(sizes.experts_of_token, t.expert_bytes() / 8 * 2);
    EXPECT_EQ(sizes.is_mixture(), architecture == Architecture::qwen3moe);
    EXPECT_EQ(sizes.f16_position, t.new_cache(0).bytes_per_position());
    EXPECT_EQ(sizes.q8_0_position, t.new_cache(0, CacheType::q8_0).bytes_per_position());
    EXPECT_EQ(sizes.n_ctx, 8192u);
    const Transformer in_file = model.again({.weights = mapped});
    EXPECT_EQ(sizes.experts.in_file + sizes.rest.in_file, in_file.weight_bytes());
  }
}

TEST(MemoryPlan, AnEmbeddingThatIsAlsoTheHeadCountsOnceInEveryFormat) {
  for (const DType format : {DType::Q8_0, DType::BF16}) {
    const test::LoadedModel model(
        {.config = test::tiny_config(Architecture::qwen3), .format = format}, {.weights = packed});
    const Transformer& t = model.transformer;
    const ModelSizes sizes = sizes_of(model.file(), t.config(), t.kernels());
    EXPECT_EQ(sizes.rest.packed, t.weight_bytes()) << to_string(format);
    const Transformer in_file = model.again({.weights = mapped});
    EXPECT_EQ(sizes.rest.in_file, in_file.weight_bytes()) << to_string(format);
  }
}

}  // namespace
}  // namespace maglio

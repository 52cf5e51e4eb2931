// Multiply-adds and bytes of small models, counted by hand.
#include "maglio/bench_work.h"

#include <gtest/gtest.h>

#include "kernels/registry.h"
#include "support/loaded_model.h"

namespace maglio::app {
namespace {

using test::LoadedModel;
using test::SyntheticModel;

constexpr size_t kF32 = 0, kA16 = 1, kA8 = 2;

ModelWork work_of_file(const LoadedModel& model) {
  return ModelWork(
      model.file(), model.transformer.config(), active_kernels(),
      {.all = model.transformer.weight_bytes(), .experts = model.transformer.expert_bytes()});
}

// tiny_config: 2 layers, 128 wide, 4 heads on 2 of 32 channels, 256 inside, 320 tokens.
//   q 128 * 128, k and v 64 * 128 each                                  32,768
//   output 128 * 128, gate, up and down 128 * 256 each                 114,688
//   head 320 * 128                                                      40,960
constexpr uint64_t kBefore = 32'768, kAfter = 114'688, kHead = 40'960;

TEST(BenchWork, OneTokenPassesEveryWeightOnce) {
  const LoadedModel model({.config = test::tiny_config(Architecture::qwen3)});
  const Work step = work_of_file(model).step(0, 1, 256);
  EXPECT_EQ(step.macs[kA16], 2 * (kBefore + kAfter) + kHead);
  EXPECT_EQ(step.macs[kF32], 2u * 2 * 128);  // one key: q k' and p v, in two layers
  EXPECT_EQ(step.total_macs(), step.macs[kA16] + step.macs[kF32]);
  // Q8_0: 34 bytes for 32 weights.
  EXPECT_EQ(step.bytes, (2 * (kBefore + kAfter) + kHead) / 32 * 34 + 256);
}

TEST(BenchWork, OfAPromptOnlyTheLastRowFinishesTheLastLayer) {
  const LoadedModel model({.config = test::tiny_config(Architecture::qwen3)});
  const Work prompt = work_of_file(model).prompt(10, 3);
  EXPECT_EQ(prompt.macs[kA16], 3 * (2 * kBefore + kAfter) + kAfter + kHead);
  // The rows see 11, 12 and 13 keys; in the last layer only the last one looks.
  EXPECT_EQ(prompt.macs[kF32], 2u * 128 * (11 + 12 + 13 + 13));
  EXPECT_EQ(prompt.bytes, 0u);
}

TEST(BenchWork, StreamsShareTheWeightsAndReadTheirOwnCaches) {
  const LoadedModel model({.config = test::tiny_config(Architecture::qwen3)});
  const ModelWork work = work_of_file(model);
  const Work one = work.step(99, 1, 256), eight = work.step(99, 8, 256);
  EXPECT_EQ(one.bytes, model.transformer.weight_bytes() + 100 * 256);
  EXPECT_EQ(eight.bytes, model.transformer.weight_bytes() + 8 * 100 * 256);
  EXPECT_EQ(eight.total_macs(), 8 * one.total_macs());
}

TEST(BenchWork, EachMatrixCountsInTheClassOfItsFormat) {
  const auto format_of = [](std::string_view name) -> std::optional<DType> {
    if (name.ends_with("ffn_down.weight")) return DType::Q4_0;
    if (name == "output.weight") return DType::F16;
    return std::nullopt;
  };
  const LoadedModel model({.config = test::tiny_config(Architecture::llama),
                           .format_of = format_of,
                           .tied_head = false});
  const Work step = work_of_file(model).step(0, 1, 0);
  const uint64_t down = 128 * 256;
  EXPECT_EQ(step.macs[kA8], 2 * down);
  EXPECT_EQ(step.macs[kA16], 2 * (kBefore + kAfter - down));
  EXPECT_EQ(step.macs[kF32], kHead + 2u * 2 * 128);
}

// The embedding of a file with a head of its own is not read: a row of it at a time is.
TEST(BenchWork, BytesOfAStepAreThoseOfEveryMatrixAndNoOther) {
  const size_t weights = 2 * (kBefore + kAfter) + kHead;
  for (const bool tied : {true, false}) {
    const LoadedModel model({.config = test::tiny_config(Architecture::qwen3),
                             .format = DType::F16,
                             .tied_head = tied});
    EXPECT_EQ(work_of_file(model).step(0, 1, 0).bytes, 2 * weights) << tied;
  }
}

// The mixture: a router of 8 * 128 in F32, and 2 of 8 experts of 3 * 128 * 256 in Q8_0.
TEST(BenchWork, OfAMixtureOnlyTheExpertsThatATokenUsesCount) {
  const LoadedModel packed({.config = test::tiny_config(Architecture::qwen3moe)});
  const LoadedModel mapped({.config = test::tiny_config(Architecture::qwen3moe)},
                           {.experts = WeightStorage::mapped});
  const uint64_t router = 8 * 128, expert = 3 * 128 * 256, output = 128 * 128;
  for (const LoadedModel* model : {&packed, &mapped}) {
    const ModelWork work = work_of_file(*model);
    const Work one = work.step(0, 1, 0);
    EXPECT_EQ(one.macs[kA16], 2 * (kBefore + output + 2 * expert) + kHead);
    EXPECT_EQ(one.macs[kF32], 2 * router + 2u * 2 * 128);
    const uint64_t padded = 2 * router;  // packed in panels of 16 rows
    const uint64_t rest = (2 * (kBefore + output) + kHead) / 32 * 34 + 2 * padded * 4;
    EXPECT_EQ(one.bytes, rest + 2 * 2 * expert / 32 * 34);
    // Two streams: a quarter of the experts each, so 1 - 3/4 * 3/4 of them.
    EXPECT_EQ(work.step(0, 2, 0).bytes, rest + 2 * 8 * expert / 32 * 34 / 16 * 7);
  }
}

TEST(BenchWork, ATestIsTheSumOfItsSpansAndSteps) {
  const LoadedModel model({.config = test::tiny_config(Architecture::qwen3)});
  const ModelWork work = work_of_file(model);
  const BenchTest test{.model = "", .n_ubatch = 4, .n_depth = 100, .n_prompt = 6, .n_gen = 2};
  Work sum = work.prompt(100, 4);
  sum += work.prompt(104, 2);
  sum += work.step(106, 1, 256);
  sum += work.step(107, 1, 256);
  EXPECT_EQ(work_of(test, work, 256).macs, sum.macs);
  EXPECT_EQ(work_of(test, work, 256).bytes, sum.bytes);
}

}  // namespace
}  // namespace maglio::app

// The engine against the plain double-precision forward pass of tests/support/reference_model.
//
// The bounds are two to three times what was measured, so that a wrong mask, pairing, page edge or
// block turns red while rounding does not.
#include <gtest/gtest.h>

#include <optional>
#include <string_view>
#include <vector>

#include "support/loaded_model.h"

namespace maglio {
namespace {

using test::all_logits;
using test::LoadedModel;
using test::random_prompt;
using test::Rows;
using test::SyntheticModel;

// What activations are rounded to decides the error (docs/numerics.md). Measured: 4e-4 with f32 and
// 16 bits, which is what the f16 cache costs; 7e-3 with 8 bits per 32; 4e-2 with 8 bits per 256.
double bound(DType format) {
  if (dtype_info(format).block_size == 256) return 1e-1;
  return format == DType::Q4_0 ? 2e-2 : 1e-3;
}

// The largest relative error among the rows of logits.
double worst_error(const Rows& rows, const test::Matrix& reference) {
  double worst = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    worst = std::max(worst, test::relative_error(rows[i], reference[i]));
  }
  return worst;
}

double worst_error(LoadedModel& model, size_t n_tokens, CacheType type = CacheType::f16) {
  const auto prompt = random_prompt(n_tokens, model.transformer.config().vocab_size);
  return worst_error(all_logits(model.transformer, prompt, prompt.size(), type),
                     test::reference_logits(model.file(), prompt));
}

constexpr DType kFormats[] = {DType::F32,  DType::F16,  DType::BF16, DType::Q8_0,
                              DType::Q4_0, DType::Q4_1, DType::Q5_0, DType::Q5_1,
                              DType::Q4_K, DType::Q5_K, DType::Q6_K};

TEST(Reference, EveryFormatOfEveryArchitecture) {
  for (const auto architecture : {Architecture::qwen3, Architecture::qwen2, Architecture::llama}) {
    for (const DType format : kFormats) {
      LoadedModel model({.config = test::tiny_k_config(architecture),
                         .format = format,
                         .biases = architecture == Architecture::qwen2});
      const double error = worst_error(model, 20);
      RecordProperty(std::string(to_string(format)), std::to_string(error));
      EXPECT_LT(error, bound(format)) << to_string(format);
    }
  }
}

void expect_near_the_reference_in_every_format(Architecture architecture) {
  for (const DType format : kFormats) {
    LoadedModel model({.config = test::tiny_k_config(architecture), .format = format});
    const double error = worst_error(model, 20);
    testing::Test::RecordProperty(std::string(to_string(format)), std::to_string(error));
    EXPECT_LT(error, bound(format)) << to_string(format);
  }
}

TEST(Reference, EveryFormatOfAMixture) {
  expect_near_the_reference_in_every_format(Architecture::qwen3moe);
}

TEST(Reference, EveryFormatOfAMixtureWithASharedExpert) {
  expect_near_the_reference_in_every_format(Architecture::qwen2moe);
}

TEST(Reference, APromptOverSeveralPages) {
  for (const auto architecture : {Architecture::qwen3, Architecture::llama}) {
    LoadedModel model({.config = test::tiny_config(architecture)});
    EXPECT_LT(worst_error(model, 200), bound(DType::Q8_0));
  }
}

TEST(Reference, AQ8CacheCostsAboutItsOwnRounding) {
  LoadedModel model({.config = test::tiny_config(Architecture::qwen3)});
  const double error = worst_error(model, 100, CacheType::q8_0);
  EXPECT_LT(error, 3e-2);
  EXPECT_GT(error, 1e-3) << "an f16 cache was used instead";
}

TEST(Reference, HeadRatiosMapQueryHeadsToTheirKeyHeads) {
  for (const auto& [n_heads, n_kv_heads] :
       {std::pair(9u, 3u), std::pair(16u, 8u), std::pair(64u, 4u)}) {
    Config c = test::tiny_config(Architecture::qwen3);
    c.n_heads = n_heads;
    c.n_kv_heads = n_kv_heads;
    LoadedModel model({.config = c});
    EXPECT_LT(worst_error(model, 70), bound(DType::Q8_0)) << n_heads;
  }
}

TEST(Reference, AHeadOfItsOwnIsUsedWhereTheFileHasOne) {
  LoadedModel model({.config = test::tiny_config(Architecture::llama), .tied_head = false});
  EXPECT_LT(worst_error(model, 20), bound(DType::Q8_0));
}

TEST(Reference, AWindowOfWPositionsSeesExactlyW) {
  const SyntheticModel file{.config = test::tiny_config(Architecture::qwen3)};
  const auto prompt = random_prompt(150, 320);
  for (const size_t window : {1, 4, 63, 64, 65, 149, 150}) {
    LoadedModel model(file, {.n_threads = 2, .attn_window = window});
    const Rows rows = all_logits(model.transformer, prompt, prompt.size());
    const auto reference = test::reference_logits(model.file(), prompt, window);
    EXPECT_LT(worst_error(rows, reference), bound(DType::Q8_0)) << window;
    EXPECT_EQ(all_logits(model.transformer, prompt, 7), rows) << window;
  }
}

TEST(Reference, RopeScalingAndLlama3Frequencies) {
  Config c = test::tiny_config(Architecture::llama);
  c.rope_scale = 4.0f;
  LoadedModel scaled({.config = c});
  EXPECT_LT(worst_error(scaled, 100), bound(DType::Q8_0));
  LoadedModel stretched({.config = test::tiny_config(Architecture::llama), .rope_freqs = true});
  EXPECT_LT(worst_error(stretched, 100), bound(DType::Q8_0));
}

TEST(Reference, OutlierChannelsStayWithinTheBound) {
  for (const DType format : {DType::F16, DType::Q8_0}) {
    LoadedModel model(
        {.config = test::tiny_config(Architecture::qwen3), .format = format, .n_outliers = 3});
    EXPECT_LT(worst_error(model, 20), 3 * bound(format)) << to_string(format);
  }
}

// The real widths of each family, cut to two layers and a small vocabulary.
struct Family {
  const char* name;
  size_t d_model, d_ff, n_heads, n_kv_heads;
};

class FamilyGeometry : public testing::TestWithParam<Family> {};

TEST_P(FamilyGeometry, CutToTwoLayersMeetsTheReference) {
  const Family& family = GetParam();
  Config c = Config::qwen3_0_6b();
  c.d_model = family.d_model;
  c.d_ff = family.d_ff;
  c.n_heads = family.n_heads;
  c.n_kv_heads = family.n_kv_heads;
  c.n_layers = 2;
  c.vocab_size = 512;
  LoadedModel model({.config = c, .format = DType::Q4_K});
  EXPECT_LT(worst_error(model, 3), bound(DType::Q4_K));
}

INSTANTIATE_TEST_SUITE_P(Qwen3,
                         FamilyGeometry,
                         testing::Values(Family{"0_6B", 1024, 3072, 16, 8},
                                         Family{"1_7B", 2048, 6144, 16, 8},
                                         Family{"4B", 2560, 9728, 32, 8},
                                         Family{"8B", 4096, 12288, 32, 8}),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace maglio

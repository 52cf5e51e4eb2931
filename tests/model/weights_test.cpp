#include "model/weights.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/registry.h"
#include "maglio/error.h"
#include "support/synthetic_model.h"

namespace maglio {
namespace {

using test::Bytes;
using test::SyntheticModel;

class WeightsTest : public testing::Test {
 protected:
  Weights load(const Bytes& bytes, const Config& config, const LoadOptions& options = {}) {
    return Weights::load(gguf::File::parse(bytes), config, active_kernels(), pool_, options);
  }
  Error refusal(const Bytes& bytes, const Config& config) {
    try {
      (void)load(bytes, config);
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "was accepted";
    return Error(ErrorKind::io, "", "");
  }
  ThreadPool pool_{2};
  Config config_ = test::tiny_config(Architecture::qwen3);
};

TEST_F(WeightsTest, ProjectionsOfOneFormatAreFused) {
  const Bytes bytes = SyntheticModel{.config = config_}.bytes();
  const Weights w = load(bytes, config_);
  ASSERT_EQ(w.layers.size(), 2u);
  for (const Layer& layer : w.layers) {
    ASSERT_TRUE(layer.attention.qkv.fused);
    EXPECT_EQ(layer.attention.qkv.fused->n_out,
              config_.query_width() + 2 * config_.key_value_width());
    EXPECT_EQ(layer.attention.qkv.fused->panels,
              std::get<0>(layer.attention.qkv.parts).matrix.panels);
    EXPECT_TRUE(std::get<FeedForward>(layer.feed_forward.network).gate_up.fused);
  }
}

TEST_F(WeightsTest, MixedFormatsDeclineFusionAndStayUsable) {
  SyntheticModel file{.config = config_};
  file.format_of = [](std::string_view name) -> std::optional<DType> {
    return name == "blk.1.attn_v.weight" ? std::optional(DType::Q5_0) : std::nullopt;
  };
  const Bytes bytes = file.bytes();
  const Weights w = load(bytes, config_);
  EXPECT_TRUE(w.layers[0].attention.qkv.fused);
  EXPECT_FALSE(w.layers[1].attention.qkv.fused);
  EXPECT_TRUE(std::get<FeedForward>(w.layers[1].feed_forward.network).gate_up.fused);
  EXPECT_EQ(std::get<2>(w.layers[1].attention.qkv.parts).matrix.dtype, DType::Q5_0);
}

TEST_F(WeightsTest, ATiedHeadIsTheEmbeddingItselfNoCopy) {
  const Bytes bytes = SyntheticModel{.config = config_}.bytes();
  const Weights w = load(bytes, config_);
  ASSERT_TRUE(w.embedding.matrix.is_packed());
  EXPECT_EQ(w.embedding.matrix.panels, w.head.matrix.panels);
}

TEST_F(WeightsTest, AnEmbeddingBesideAHeadStaysInTheFile) {
  const Bytes bytes = SyntheticModel{.config = config_, .tied_head = false}.bytes();
  const Weights w = load(bytes, config_);
  EXPECT_FALSE(w.embedding.matrix.is_packed());
  EXPECT_EQ(w.embedding.matrix.rows,
            gguf::File::parse(bytes).require("token_embd.weight").data.data());
}

TEST_F(WeightsTest, NothingIsWidened) {
  const Bytes bytes = SyntheticModel{.config = config_}.bytes();
  const Weights w = load(bytes, config_);
  size_t stored = 0;
  const gguf::File file = gguf::File::parse(bytes);
  for (const gguf::TensorInfo& tensor : file.tensors()) {
    if (tensor.dims.size() == 2) stored += tensor.data.size();
  }
  EXPECT_LE(w.matrix_bytes(), stored + stored / 16);
}

TEST_F(WeightsTest, MappedWeightsPointIntoTheFile) {
  const Bytes bytes = SyntheticModel{.config = config_}.bytes();
  const gguf::File file = gguf::File::parse(bytes);
  const Weights w = load(bytes, config_, {.weights = WeightStorage::mapped});
  EXPECT_EQ(w.storage(), WeightStorage::mapped);
  size_t stored = 0;
  for (const gguf::TensorInfo& tensor : file.tensors()) {
    if (tensor.dims.size() == 2) stored += tensor.data.size();
  }
  EXPECT_EQ(w.matrix_bytes(), stored);
  for (const Layer& layer : w.layers) {
    EXPECT_FALSE(layer.attention.qkv.fused);
    EXPECT_FALSE(layer.attention.output.matrix.is_packed());
  }
  EXPECT_EQ(std::get<FeedForward>(w.layers[1].feed_forward.network).down.matrix.rows,
            file.require("blk.1.ffn_down.weight").data.data());
}

TEST_F(WeightsTest, ModelsThatLeaveNoTenthOfTheMemoryStayInTheFile) {
  EXPECT_EQ(automatic_storage(900, 1000), WeightStorage::packed);
  EXPECT_EQ(automatic_storage(901, 1000), WeightStorage::mapped);
  EXPECT_EQ(automatic_storage(1, 0), WeightStorage::mapped);
  EXPECT_EQ(automatic_storage(UINT64_MAX, std::nullopt), WeightStorage::packed);
}

TEST_F(WeightsTest, ASharedExpertIsNeededWholeWhereTheArchitectureHasOne) {
  const Config config = test::tiny_config(Architecture::qwen2moe);
  for (const char* part : {"gate_inp", "gate", "up", "down"}) {
    const std::string name = fmt::format("blk.1.ffn_{}_shexp.weight", part);
    const Bytes bytes = SyntheticModel{.config = config, .without = name}.bytes();
    EXPECT_EQ(refusal(bytes, config).code(), "MissingTensor") << part;
  }
  Config other = config;
  other.d_shared = 128;
  const Bytes bytes = SyntheticModel{.config = config}.bytes();
  EXPECT_EQ(refusal(bytes, other).code(), "InvalidWeightShape");
  // Its share is a vector, or a matrix of one row, and nothing else.
  const std::string share = "blk.0.ffn_gate_inp_shexp.weight";
  const auto with_share = [&](const std::vector<uint64_t>& dims) {
    size_t n = sizeof(float);
    for (const uint64_t dim : dims) n *= dim;
    return SyntheticModel{.config = config, .without = share}
        .builder()
        .tensor(share, DType::F32, dims, Bytes(n))
        .bytes();
  };
  const Bytes row = with_share({config.d_model, 1}), two_rows = with_share({config.d_model, 2}),
              shorter = with_share({config.d_model - 32});
  EXPECT_NO_THROW(load(row, config));
  EXPECT_EQ(refusal(two_rows, config).code(), "InvalidWeightShape");
  EXPECT_EQ(refusal(shorter, config).code(), "InvalidWeightShape");
}

TEST_F(WeightsTest, ExpertsStayInTheFileWhereOnlyTheRestHasRoom) {
  const auto plan = [](WeightStorage weights, WeightStorage experts, uint64_t available) {
    const StoragePlan p = plan_storage({.weights = weights, .experts = experts}, 10, 80, available);
    return std::pair(p.rest, p.experts);
  };
  constexpr auto automatic = WeightStorage::automatic, packed = WeightStorage::packed,
                 mapped = WeightStorage::mapped;
  EXPECT_EQ(plan(automatic, automatic, 100), std::pair(packed, packed));
  EXPECT_EQ(plan(automatic, automatic, 99), std::pair(packed, mapped));
  EXPECT_EQ(plan(automatic, automatic, 10), std::pair(mapped, mapped));
  EXPECT_EQ(plan(automatic, mapped, 1000), std::pair(packed, mapped));
  EXPECT_EQ(plan(automatic, packed, 20), std::pair(packed, packed));
  EXPECT_EQ(plan(packed, automatic, 1), std::pair(packed, packed));
  EXPECT_EQ(plan(mapped, packed, 1000), std::pair(mapped, mapped));
}

TEST_F(WeightsTest, ACacheOfExpertsThatMemoryHasNoRoomForIsSaidToBeTooLarge) {
  constexpr uint64_t kGiga = 1'000'000'000;
  EXPECT_EQ(why_cache_is_too_large(70 * kGiga, 20 * kGiga, 100 * kGiga), std::nullopt);
  EXPECT_EQ(why_cache_is_too_large(70 * kGiga, 20 * kGiga, std::nullopt), std::nullopt);
  const auto why = why_cache_is_too_large(70 * kGiga, 21 * kGiga, 100 * kGiga);
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("70.0 GB and 21.0 GB"), std::string::npos) << *why;
  EXPECT_NE(why->find("of the 100.0 GB"), std::string::npos) << *why;
}

TEST_F(WeightsTest, WhatWasAskedForIsNoReasonForANote) {
  const Config config = test::tiny_config(Architecture::qwen3moe);
  const Bytes bytes = SyntheticModel{.config = config}.bytes();
  for (const auto rest : {WeightStorage::packed, WeightStorage::mapped}) {
    for (const auto experts :
         {WeightStorage::automatic, WeightStorage::packed, WeightStorage::mapped}) {
      EXPECT_TRUE(load(bytes, config, {.weights = rest, .experts = experts}).notes.empty());
    }
  }
}

TEST_F(WeightsTest, SmallModelsArePackedWithoutANote) {
  const Weights w = load(SyntheticModel{.config = config_}.bytes(), config_);
  EXPECT_EQ(w.storage(), WeightStorage::packed);
  EXPECT_TRUE(w.notes.empty());
}

TEST_F(WeightsTest, EveryMissingTensorIsNamed) {
  for (const char* name :
       {"token_embd.weight", "output_norm.weight", "blk.0.attn_norm.weight", "blk.0.attn_q.weight",
        "blk.1.attn_k.weight", "blk.0.attn_v.weight", "blk.1.attn_q_norm.weight",
        "blk.0.attn_k_norm.weight", "blk.0.attn_output.weight", "blk.1.ffn_norm.weight",
        "blk.0.ffn_gate.weight", "blk.1.ffn_up.weight", "blk.1.ffn_down.weight"}) {
    const Error error =
        refusal(SyntheticModel{.config = config_, .without = name}.bytes(), config_);
    EXPECT_EQ(error.code(), "MissingTensor") << name;
    EXPECT_NE(error.message().find(name), std::string::npos) << error.what();
  }
}

TEST_F(WeightsTest, AWrongShapeIsToldWithTheNamesOfItsAxes) {
  const SyntheticModel file{.config = config_, .without = "blk.1.attn_q.weight"};
  const Bytes bytes = file.builder()
                          .tensor("blk.1.attn_q.weight", DType::F32, {128, 64}, Bytes(4 * 128 * 64))
                          .bytes();
  const Error error = refusal(bytes, config_);
  EXPECT_EQ(error.code(), "InvalidWeightShape");
  EXPECT_NE(error.message().find(
                "blk.1.attn_q.weight: expected [head*dim 128, embed 128], file has [64, 128]"),
            std::string::npos)
      << error.what();
}

TEST_F(WeightsTest, ANormOfTheWrongLengthIsRefused) {
  const SyntheticModel file{.config = config_, .without = "output_norm.weight"};
  const Bytes bytes =
      file.builder().tensor("output_norm.weight", DType::F32, {64}, Bytes(4 * 64)).bytes();
  const Error error = refusal(bytes, config_);
  EXPECT_EQ(error.code(), "InvalidWeightShape");
  EXPECT_NE(error.message().find("expected [embed 128], file has [64]"), std::string::npos)
      << error.what();
}

TEST_F(WeightsTest, ANanInANormIsFoundAtLoad) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> weight(128, 1.0f);
    weight[77] = bad;
    const SyntheticModel file{.config = config_, .without = "output_norm.weight"};
    const Bytes bytes =
        file.builder()
            .tensor("output_norm.weight", DType::F32, {128}, test::float_bytes(weight))
            .bytes();
    const Error error = refusal(bytes, config_);
    EXPECT_EQ(error.code(), "NonFiniteWeight");
    EXPECT_NE(error.message().find("output_norm.weight"), std::string::npos) << error.what();
  }
}

TEST_F(WeightsTest, NormsMayBeStoredInHalfPrecision) {
  const SyntheticModel file{.config = config_, .without = "output_norm.weight"};
  Bytes ones;
  for (int i = 0; i < 128; ++i) test::append_number(ones, uint16_t{0x3c00});
  const Bytes bytes = file.builder().tensor("output_norm.weight", DType::F16, {128}, ones).bytes();
  const Weights w = load(bytes, config_);
  EXPECT_EQ(w.output_norm.weight[127], 1.0f);
}

TEST_F(WeightsTest, TensorsThatNothingWouldUseAreRefusedByName) {
  for (const char* name :
       {"blk.0.attn_q.weight.ptqtp0", "blk.0.attn_output.bias", "blk.7.ffn_up.weight"}) {
    const SyntheticModel file{.config = config_};
    const Bytes bytes = file.builder().tensor(name, DType::F32, {128}, Bytes(4 * 128)).bytes();
    const Error error = refusal(bytes, config_);
    EXPECT_EQ(error.kind(), ErrorKind::unsupported) << name;
    EXPECT_EQ(error.code(), "UnsupportedTensor") << name;
    EXPECT_NE(error.message().find(name), std::string::npos) << error.what();
  }
}

TEST_F(WeightsTest, AFormatThatIsKnownButNotComputedWithIsNamed) {
  const SyntheticModel file{.config = config_, .without = "blk.0.ffn_up.weight"};
  const Bytes data(row_bytes(DType::IQ4_NL, 128 * 256));
  const Bytes bytes =
      file.builder().tensor("blk.0.ffn_up.weight", DType::IQ4_NL, {128, 256}, data).bytes();
  const Error error = refusal(bytes, config_);
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_EQ(error.code(), "UnsupportedWeightType");
  EXPECT_NE(error.message().find("blk.0.ffn_up.weight"), std::string::npos);
  EXPECT_NE(error.message().find("IQ4_NL"), std::string::npos);
}

TEST_F(WeightsTest, RopeDivisorsThatWouldMakeAnglesGrowAreRefused) {
  const Config config = test::tiny_config(Architecture::llama);
  for (const float divisor : {0.0f, -1.0f, 1e-40f, 0.49f}) {
    std::vector<float> divisors(config.head_dim / 2, 1.0f);
    divisors.back() = divisor;
    const Bytes bytes =
        SyntheticModel{.config = config}
            .builder()
            .tensor("rope_freqs.weight", DType::F32, {divisors.size()}, test::float_bytes(divisors))
            .bytes();
    const Error error = refusal(bytes, config);
    EXPECT_EQ(error.code(), "InvalidWeight") << divisor;
    EXPECT_NE(error.message().find("rope_freqs.weight"), std::string::npos) << error.what();
  }
}

TEST_F(WeightsTest, Qwen2NeedsItsBiases) {
  const Config config = test::tiny_config(Architecture::qwen2);
  const Bytes bytes = SyntheticModel{.config = config, .biases = true}.bytes();
  const Weights w = load(bytes, config);
  EXPECT_TRUE(w.layers[0].attention.biases);
  const Error error = refusal(SyntheticModel{.config = config}.bytes(), config);
  EXPECT_EQ(error.code(), "MissingTensor");
  EXPECT_NE(error.message().find("attn_q.bias"), std::string::npos);
}

}  // namespace
}  // namespace maglio

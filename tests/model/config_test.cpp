#include "model/config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gguf/reader.h"
#include "maglio/error.h"
#include "support/gguf_builder.h"

namespace maglio {
namespace {

using Value = std::variant<uint32_t, float, bool, std::string>;

// The metadata that a configuration is read from, by name without the architecture's prefix.
struct Metadata {
  std::string architecture = "qwen3";
  std::map<std::string, Value> keys = {
      {"block_count", 28u},
      {"context_length", 40'960u},
      {"embedding_length", 1024u},
      {"feed_forward_length", 3072u},
      {"attention.head_count", 16u},
      {"attention.head_count_kv", 8u},
      {"attention.key_length", 128u},
      {"attention.value_length", 128u},
      {"attention.layer_norm_rms_epsilon", 1e-6f},
      {"rope.freq_base", 1'000'000.0f},
  };
  uint64_t vocab_size = 151'936;

  Metadata with(const std::string& key, Value value) const {
    Metadata other = *this;
    other.keys[key] = std::move(value);
    return other;
  }
  Metadata without(const std::string& key) const {
    Metadata other = *this;
    other.keys.erase(key);
    return other;
  }

  Config read() const {
    test::GgufBuilder file;
    if (!architecture.empty()) file.string("general.architecture", architecture);
    for (const auto& [key, value] : keys) {
      const std::string name = architecture + "." + key;
      if (const auto* n = std::get_if<uint32_t>(&value)) file.u32(name, *n);
      if (const auto* x = std::get_if<float>(&value)) file.f32(name, *x);
      if (const auto* b = std::get_if<bool>(&value)) file.boolean(name, *b);
      if (const auto* s = std::get_if<std::string>(&value)) file.string(name, *s);
    }
    // The smallest table of that many rows: only its shape is read.
    file.tensor("token_embd.weight", DType::F16, {1, vocab_size}, test::Bytes(2 * vocab_size));
    const test::Bytes bytes = file.bytes();
    return Config::from_gguf(gguf::File::parse(bytes));
  }

  // The error that reading ends in.
  Error refusal() const {
    try {
      (void)read();
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "was accepted";
    return Error(ErrorKind::io, "", "");
  }
};

Metadata llama() {
  Metadata smollm;
  smollm.architecture = "llama";
  smollm.keys = {
      {"block_count", 30u},
      {"context_length", 8192u},
      {"embedding_length", 576u},
      {"feed_forward_length", 1536u},
      {"attention.head_count", 9u},
      {"attention.head_count_kv", 3u},
      {"attention.layer_norm_rms_epsilon", 1e-5f},
      {"rope.freq_base", 100'000.0f},
      {"rope.dimension_count", 64u},
  };
  smollm.vocab_size = 49'152;
  return smollm;
}

TEST(Config, TheChaptersConstantEqualsWhatItsFileSays) {
  EXPECT_EQ(Metadata().read(), Config::qwen3_0_6b());
}

TEST(Config, ProjectionWidthsFollowFromHeads) {
  const Config c = Config::qwen3_0_6b();
  EXPECT_EQ(c.query_width(), 2048u);
  EXPECT_EQ(c.key_value_width(), 1024u);
  EXPECT_EQ(extent_of<Query>(c), 2048u);
  EXPECT_EQ(extent_of<KeyValue>(c), 1024u);
}

TEST(Config, HeadDimIsItsOwnNumber) {
  const Config c =  // Qwen3-4B: 2560 / 32 would be 80
      Metadata().with("embedding_length", 2560u).with("attention.head_count", 32u).read();
  EXPECT_EQ(c.head_dim, 128u);
  EXPECT_EQ(c.query_width(), 4096u);
}

TEST(Config, LlamaWithoutKeyLengthDividesTheWidthAmongHeads) {
  const Config c = llama().read();
  EXPECT_EQ(c.head_dim, 64u);
  EXPECT_EQ(c.rope_pairing, RopePairing::interleaved);
  EXPECT_FALSE(c.qk_norm);
  EXPECT_EQ(c.vocab_size, 49'152u);
}

TEST(Config, OldLlamaFilesHaveAsManyKeyHeadsAsHeadsAndBaseTenThousand) {
  const Config c = llama().without("attention.head_count_kv").without("rope.freq_base").read();
  EXPECT_EQ(c.n_kv_heads, 9u);
  EXPECT_EQ(c.rope_base, 10'000.0f);
}

TEST(Config, Qwen2HasHalfPairingAndNoHeadNorms) {
  Metadata qwen2;
  qwen2.architecture = "qwen2";
  const Config c = qwen2.without("attention.key_length").without("attention.value_length").read();
  EXPECT_EQ(c.head_dim, 64u);
  EXPECT_EQ(c.rope_pairing, RopePairing::half);
  EXPECT_FALSE(c.qk_norm);
}

TEST(Config, RequiredKeysAreNamedWhenMissing) {
  for (const char* key : {"block_count", "embedding_length", "feed_forward_length",
                          "attention.head_count", "attention.head_count_kv", "attention.key_length",
                          "attention.layer_norm_rms_epsilon", "rope.freq_base"}) {
    const Error error = Metadata().without(key).refusal();
    EXPECT_EQ(error.code(), "MissingMetadata") << key;
    EXPECT_NE(error.message().find(std::string("qwen3.") + key), std::string::npos) << error.what();
  }
}

TEST(Config, APresentZeroCountsAsMissing) {
  for (const char* key :
       {"block_count", "embedding_length", "feed_forward_length", "attention.head_count",
        "attention.head_count_kv", "attention.key_length", "context_length"}) {
    const Error error = Metadata().with(key, 0u).refusal();
    EXPECT_EQ(error.code(), "MissingMetadata") << key;
    EXPECT_NE(error.message().find(std::string("qwen3.") + key), std::string::npos) << error.what();
  }
  EXPECT_EQ(Metadata().with("rope.freq_base", 0.0f).refusal().code(), "MissingMetadata");
  EXPECT_EQ(Metadata().with("attention.layer_norm_rms_epsilon", 0.0f).refusal().code(),
            "MissingMetadata");
}

TEST(Config, AbsurdNumbersAreRefusedByName) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<std::pair<std::string, Value>> cases = {
      {"attention.head_count_kv", 3u},  // does not divide 16
      {"attention.head_count_kv", 32u},
      {"attention.key_length", 127u},  // channels rotate in pairs
      {"attention.key_length", 1'000'000u},
      {"block_count", 1025u},
      {"block_count", 4'294'967'295u},
      {"embedding_length", 4'294'967'295u},
      {"rope.freq_base", nan},
      {"rope.freq_base", infinity},
      {"rope.freq_base", -1.0f},
      {"rope.freq_base", 0.99f},  // an angle would grow with the pair
      {"rope.freq_base", 1e-40f},
      {"rope.scaling.factor", 0.49f},
      {"rope.scaling.factor", 1e-40f},
      {"rope.scaling.factor", nan},
      {"attention.layer_norm_rms_epsilon", nan},
      {"attention.layer_norm_rms_epsilon", -1e-6f},
      {"attention.layer_norm_rms_epsilon", 1.0f},
  };
  for (const auto& [key, value] : cases) {
    const Error error = Metadata().with(key, value).refusal();
    EXPECT_EQ(error.kind(), ErrorKind::bad_file) << key;
    EXPECT_EQ(error.code(), "InvalidConfig") << key;
    EXPECT_NE(error.message().find("qwen3." + key), std::string::npos) << error.what();
  }
}

TEST(Config, HeadsThatDoNotDivideTheWidthNeedAKeyLength) {
  const Error error =
      llama().with("attention.head_count", 10u).with("attention.head_count_kv", 5u).refusal();
  EXPECT_EQ(error.code(), "InvalidConfig");
  EXPECT_NE(error.message().find("llama.attention.key_length"), std::string::npos) << error.what();
}

TEST(Config, UnknownArchitecturesAreNamed) {
  Metadata other;
  other.architecture = "gpt-neox";
  Error error = other.refusal();
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_EQ(error.code(), "UnsupportedArchitecture");
  EXPECT_NE(error.message().find("gpt-neox"), std::string::npos);
  other.architecture = "";
  error = other.refusal();
  EXPECT_EQ(error.code(), "MissingMetadata");
  EXPECT_NE(error.message().find("general.architecture"), std::string::npos);
}

TEST(Config, LinearRopeScalingIsAFactor) {
  EXPECT_EQ(llama().with("rope.scaling.factor", 4.0f).read().rope_scale, 4.0f);
  EXPECT_EQ(llama()
                .with("rope.scaling.type", "linear")
                .with("rope.scaling.factor", 4.0f)
                .read()
                .rope_scale,
            4.0f);
  EXPECT_EQ(llama().with("rope.scale_linear", 2.0f).read().rope_scale, 2.0f);
  EXPECT_EQ(
      llama().with("rope.scaling.type", "none").with("rope.scaling.factor", 4.0f).read().rope_scale,
      1.0f);
}

TEST(Config, VariantsThatWouldComputeSomethingElseAreRefusedByName) {
  const std::vector<std::pair<std::string, Value>> cases = {
      {"rope.scaling.type", "yarn"},   {"rope.scaling.type", "longrope"},
      {"attention.value_length", 64u}, {"rope.dimension_count", 32u},
      {"attention.causal", false},     {"expert_count", 8u},
  };
  for (const auto& [key, value] : cases) {
    const Error error = Metadata().with(key, value).refusal();
    EXPECT_EQ(error.kind(), ErrorKind::unsupported) << key;
    EXPECT_EQ(error.code(), "UnsupportedVariant") << key;
    EXPECT_NE(error.message().find("qwen3." + key), std::string::npos) << error.what();
  }
}

Metadata mixture() {
  Metadata m = Metadata().without("feed_forward_length");
  m.architecture = "qwen3moe";
  return m.with("expert_count", 128u)
      .with("expert_used_count", 8u)
      .with("expert_feed_forward_length", 768u);
}

TEST(Config, AMixtureStatesItsExpertsAndNormalisesTheSelectedUnlessToldOtherwise) {
  const Config c = mixture().read();
  EXPECT_EQ(c.architecture, Architecture::qwen3moe);
  EXPECT_EQ(c.n_experts, 128u);
  EXPECT_EQ(c.n_experts_used, 8u);
  EXPECT_EQ(c.d_ff, 768u);
  EXPECT_TRUE(c.qk_norm);
  EXPECT_TRUE(c.normalize_selected);
  EXPECT_FALSE(mixture().with("expert_weights_norm", false).read().normalize_selected);
}

TEST(Config, AMixtureOfQwen2HasASharedExpertAndDoesNotNormalise) {
  Metadata m = mixture().with("expert_shared_feed_forward_length", 5632u);
  m.architecture = "qwen2moe";
  const Config c = m.read();
  EXPECT_EQ(c.architecture, Architecture::qwen2moe);
  EXPECT_EQ(c.d_shared, 5632u);
  EXPECT_EQ(c.d_ff, 768u);
  EXPECT_FALSE(c.qk_norm);
  EXPECT_FALSE(c.normalize_selected);
  EXPECT_EQ(m.without("expert_shared_feed_forward_length").refusal().code(), "MissingMetadata");
  EXPECT_EQ(m.without("expert_shared_feed_forward_length")
                .with("feed_forward_length", 4096u)
                .read()
                .d_shared,
            4096u);
  EXPECT_EQ(m.with("expert_shared_feed_forward_length", 0u).refusal().code(), "MissingMetadata");
  EXPECT_EQ(mixture().read().d_shared, 0u) << "Qwen3's mixtures share nothing";
}

TEST(Config, AMixtureWithoutExpertsOrWithMoreUsedThanThereAreIsAnError) {
  for (const char* key : {"expert_count", "expert_used_count", "expert_feed_forward_length"}) {
    EXPECT_EQ(mixture().without(key).refusal().code(), "MissingMetadata") << key;
    EXPECT_EQ(mixture().with(key, 0u).refusal().code(), "MissingMetadata") << key;
  }
  EXPECT_EQ(mixture().with("expert_used_count", 129u).refusal().code(), "InvalidConfig");
  EXPECT_EQ(mixture().with("expert_count", 5000u).refusal().code(), "InvalidConfig");
  EXPECT_EQ(mixture().with("expert_weights_scale", 2.5f).refusal().code(), "UnsupportedVariant");
}

TEST(Config, ASlidingWindowInTheMetadataChangesNothing) {
  EXPECT_EQ(Metadata().with("attention.sliding_window", 32'768u).read(), Config::qwen3_0_6b());
}

}  // namespace
}  // namespace maglio

// Model files whose header is sound and whose numbers are not: what the reader lets through, the
// model must refuse or compute, and nothing else.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/reader.h"
#include "maglio/error.h"
#include "model/kv_cache.h"
#include "model/transformer.h"
#include "support/gguf_builder.h"
#include "support/synthetic_model.h"
#include "support/temp_dir.h"

namespace maglio {
namespace {

using test::Bytes;
using test::GgufBuilder;
using test::SyntheticModel;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr uint32_t kCounts[] = {
    0,          1,          2,   3,    7,    16,   31,   33,    64,       127,
    129,        255,        256, 1024, 1025, 4096, 4097, 65536, 1u << 24, (1u << 24) + 1,
    0x7fffffff, 0x80000000, ~0u};
constexpr float kNumbers[] = {0,    -0.0f, 1e-45f, 1e-38f, 1e-20f, 0.5f,      1,         2,
                              1e9f, 1e38f, -1,     -1e30f, kNan,   kInfinity, -kInfinity};
const std::vector<TokenId> kPrompt = {1, 2, 3};

GgufBuilder model_of(Architecture architecture) {
  const std::string prefix = architecture == Architecture::llama ? "llama" : "qwen3";
  const Config config = test::tiny_config(architecture);
  GgufBuilder builder =
      SyntheticModel{.config = config, .rope_freqs = architecture == Architecture::llama}.builder();
  builder.f32(prefix + ".rope.scaling.factor", 1.0f);
  builder.u32(prefix + ".rope.dimension_count", static_cast<uint32_t>(config.head_dim));
  return builder;
}

template <class T>
Bytes with_value(Bytes bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
  return bytes;
}

// Loads and runs; true if that ended in logits, false if in an Error.
bool runs(const Bytes& bytes) {
  try {
    Transformer model = Transformer::load(gguf::File::parse(bytes), {.n_threads = 1});
    KvCache cache = model.new_cache(kPrompt.size());
    return !model.forward_step(cache, kPrompt, 0).empty();
  } catch (const Error& error) {
    EXPECT_FALSE(error.message().empty());
    EXPECT_EQ(error.message().find('\n'), std::string::npos) << error.message();
    return false;
  }
}

struct Outcome {
  size_t n_run = 0;
  size_t n_refused = 0;
  void count(bool ran) { ++(ran ? n_run : n_refused); }
};

TEST(HostileModel, AnyNumberInItsMetadataIsComputedWithOrRefused) {
  for (const Architecture architecture : {Architecture::qwen3, Architecture::llama}) {
    const Bytes bytes = model_of(architecture).bytes();
    const gguf::File file = gguf::File::parse(bytes);
    Outcome outcome;
    for (const auto& [key, value] : file.metadata().entries()) {
      SCOPED_TRACE(std::string(key));
      const auto at = static_cast<size_t>(value.bytes.data() - bytes.data());
      if (value.type == gguf::ValueType::u32) {
        for (const uint32_t count : kCounts) outcome.count(runs(with_value(bytes, at, count)));
      } else if (value.type == gguf::ValueType::f32) {
        for (const float number : kNumbers) outcome.count(runs(with_value(bytes, at, number)));
      }
    }
    EXPECT_GT(outcome.n_run, 20u);
    EXPECT_GT(outcome.n_refused, 100u);
  }
}

TEST(HostileModel, AnyNumberInItsVectorsIsComputedWithOrRefused) {
  const Bytes bytes = model_of(Architecture::llama).bytes();
  const gguf::File file = gguf::File::parse(bytes);
  Outcome outcome;
  for (const gguf::TensorInfo& tensor : file.tensors()) {
    if (tensor.dtype != DType::F32) continue;
    SCOPED_TRACE(std::string(tensor.name));
    const auto at = static_cast<size_t>(tensor.data.data() - bytes.data());
    for (const float number : kNumbers) {
      outcome.count(runs(with_value(bytes, at, number)));
      Bytes all = bytes;
      for (size_t i = 0; i < tensor.data.size(); i += sizeof(float)) {
        std::memcpy(all.data() + at + i, &number, sizeof number);
      }
      outcome.count(runs(all));
    }
  }
  EXPECT_GT(outcome.n_run, 50u);
  EXPECT_GT(outcome.n_refused, 50u);
}

TEST(HostileModel, NamesThatSteerATerminalAreEscaped) {
  const Bytes bytes =
      model_of(Architecture::qwen3).tensor("\x1b[2J\n", DType::F32, {1}, Bytes(4)).bytes();
  try {
    Transformer::load(gguf::File::parse(bytes), {.n_threads = 1});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find(R"(\x1b[2J\n)"), std::string::npos) << error.message();
    EXPECT_EQ(error.message().find('\x1b'), std::string::npos);
  }
}

TEST(SplitModel, GivesTheLogitsOfTheSingleFileWhicheverPartIsNamed) {
  const test::TempDir folder;
  const GgufBuilder builder = model_of(Architecture::qwen3);
  builder.write(folder / "single.gguf");
  const auto parts = builder.write_split(folder.path(), "split", 3);
  const auto logits_of = [](const std::filesystem::path& path) {
    Transformer model = Transformer::load(path, {.n_threads = 1});
    KvCache cache = model.new_cache(kPrompt.size());
    const std::span<const float> logits = model.forward_step(cache, kPrompt, 0);
    return std::vector<float>(logits.begin(), logits.end());
  };
  const std::vector<float> expected = logits_of(folder / "single.gguf");
  for (const auto& part : parts) EXPECT_EQ(logits_of(part), expected) << part;
}

}  // namespace
}  // namespace maglio

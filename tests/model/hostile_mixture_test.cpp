// Mixtures whose files are wrong where only a mixture looks: each is refused with its own error,
// with experts in memory, in the file and on disk.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "maglio/error.h"
#include "model/kv_cache.h"
#include "model/transformer.h"
#include "support/error_code.h"
#include "support/loaded_model.h"
#include "support/synthetic_model.h"
#include "support/temp_dir.h"

namespace maglio {
namespace {

namespace fs = std::filesystem;
using test::Bytes;
using test::SyntheticModel;

// In memory, in the file, on disk.
std::vector<TransformerOptions> every_storage() {
  return {{.n_threads = 1},
          {.n_threads = 1, .weights = WeightStorage::mapped},
          {.n_threads = 1, .expert_cache = {{.bytes = 1u << 30, .learn = false}}}};
}

class HostileMixture : public testing::Test {
 protected:
  HostileMixture() : model_{.config = test::tiny_config(Architecture::qwen3moe)} {}

  // What loading says, which has to be the same for every storage; and then running.
  std::string code_of_running() {
    std::optional<std::string> code;
    for (const TransformerOptions& options : every_storage()) {
      try {
        Transformer model = Transformer::load(path_, options);
        KvCache cache = model.new_cache(8);
        (void)model.forward_step(cache, std::vector<TokenId>{1, 2, 3}, 0);
        message_.clear();
        EXPECT_EQ(code.value_or("none"), "none");
        code = "none";
      } catch (const Error& error) {
        message_ = error.message();
        EXPECT_EQ(code.value_or(error.code()), error.code()) << message_;
        code = error.code();
      }
    }
    return *code;
  }
  std::string code_of(const test::GgufBuilder& builder) {
    builder.write(path_);
    return code_of_running();
  }
  bool says(std::string_view text) const { return message_.find(text) != std::string::npos; }

  SyntheticModel model_;
  test::TempDir dir_;
  fs::path path_ = dir_ / "model.gguf";
  std::string message_;
};

TEST_F(HostileMixture, CountsThatCannotBeAreRefusedWithTheirKey) {
  const auto with_counts = [&](size_t n_experts, size_t n_used) {
    model_.config.n_experts = n_experts;
    model_.config.n_experts_used = n_used;
    return model_.builder();
  };
  EXPECT_EQ(code_of(with_counts(1, 1)), "none") << message_;
  EXPECT_EQ(code_of(with_counts(8, 8)), "none") << message_;
  EXPECT_EQ(code_of(with_counts(8, 9)), "InvalidConfig");
  EXPECT_TRUE(says("qwen3moe.expert_used_count is 9, expected at most 8")) << message_;
  EXPECT_EQ(code_of(with_counts(8, 0)), "MissingMetadata");
  EXPECT_TRUE(says("qwen3moe.expert_used_count")) << message_;
  model_.config.d_ff = 32;
  EXPECT_EQ(code_of(with_counts(4097, 1)), "InvalidConfig");
  EXPECT_TRUE(says("qwen3moe.expert_count is 4097")) << message_;
}

TEST_F(HostileMixture, AStackThatIsMissingOrHasAnotherShapeIsNamed) {
  const Config& c = model_.config;
  for (const std::string part : {"gate_inp", "gate_exps", "up_exps", "down_exps"}) {
    const std::string name = "blk.1.ffn_" + part + ".weight";
    model_.without = name;
    EXPECT_EQ(code_of(model_.builder()), "MissingTensor") << name;
    EXPECT_TRUE(says(name)) << message_;
    const uint64_t n_in = part == "down_exps" ? c.d_ff : c.d_model;
    const uint64_t n_out = part == "down_exps" ? c.d_model : c.d_ff;
    std::vector<std::vector<uint64_t>> wrong = {
        {n_in, n_out, c.n_experts - 1}, {n_in, n_out, c.n_experts + 1},
        {n_out, n_in, c.n_experts},     {n_in, n_out + 1, c.n_experts},
        {n_in, n_out * c.n_experts},    {n_in, n_out, c.n_experts, 2}};
    if (part == "gate_inp") wrong = {{n_in, c.n_experts - 1}, {c.n_experts, n_in}, {n_in}};
    for (const std::vector<uint64_t>& dims : wrong) {
      size_t n = sizeof(float);
      for (const uint64_t dim : dims) n *= dim;
      const std::string code = code_of(model_.builder().tensor(name, DType::F32, dims, Bytes(n)));
      EXPECT_EQ(code, "InvalidWeightShape") << name << " " << dims.size();
      EXPECT_TRUE(says(name) && says("expected") && says("file has")) << message_;
    }
  }
}

TEST_F(HostileMixture, ARouterThatIsNotFiniteIsRefusedAndNamed) {
  const Config& c = model_.config;
  for (const float wrong :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const size_t at : {size_t{0}, c.d_model * c.n_experts - 1}) {
      const std::string name = "blk.0.ffn_gate_inp.weight";
      model_.without = name;
      std::vector<float> router(c.d_model * c.n_experts, 0.25f);
      router[at] = wrong;
      Bytes bytes(router.size() * sizeof(float));
      std::memcpy(bytes.data(), router.data(), bytes.size());
      const std::string code =
          code_of(model_.builder().tensor(name, DType::F32, {c.d_model, c.n_experts}, bytes));
      EXPECT_EQ(code, "NonFiniteWeight") << wrong << " " << at;
      EXPECT_TRUE(says(name + ": holds NaN or infinity")) << message_;
    }
  }
}

TEST_F(HostileMixture, AFileThatEndsInsideAnExpertIsRefusedBeforeAnythingIsRead) {
  model_.builder().write(path_);
  const std::uintmax_t whole = fs::file_size(path_);
  uint64_t inside = 0;  // of the last expert of a stack
  {
    const gguf::File file = gguf::File::open(path_);
    const gguf::TensorInfo& stack = file.require("blk.1.ffn_up_exps.weight");
    inside = static_cast<uint64_t>(stack.data.data() - file.mappings()[0].bytes().data()) +
             stack.data.size() - 5;
  }
  ASSERT_LT(inside, whole);
  fs::resize_file(path_, inside);
  EXPECT_EQ(code_of_running(), "Truncated");
  EXPECT_TRUE(says("model.gguf")) << message_;
}

TEST_F(HostileMixture, ASplitFileWithoutOneOfItsPartsNamesIt) {
  const auto parts = model_.builder().write_split(dir_.path(), "parts", 4);
  for (size_t missing = 0; missing < parts.size(); ++missing) {
    const fs::path away = dir_ / "away";
    fs::rename(parts[missing], away);
    path_ = parts[missing == 0 ? 1 : 0];
    EXPECT_EQ(code_of_running(), "MissingShard") << missing;
    EXPECT_TRUE(says(parts[missing].filename().string())) << message_;
    fs::rename(away, parts[missing]);
  }
}

// The rest of the weights lies in the file, too.
TEST_F(HostileMixture, AFileThatShrinksBetweenTwoTokensEndsInAnErrorAndNothingElse) {
  model_.tied_head = false;
  for (const bool on_disk : {false, true}) {
    model_.builder().write(path_);
    const std::uintmax_t whole = fs::file_size(path_);
    TransformerOptions options = {.n_threads = 2, .weights = WeightStorage::mapped};
    // Room for one expert a layer, so that every token has to read.
    if (on_disk) {
      const Transformer all = Transformer::load(
          path_, {.n_threads = 1, .expert_cache = {{.bytes = UINT64_MAX, .learn = false}}});
      const ExpertCacheStats stats = *all.expert_cache_stats();
      options.expert_cache = {{.bytes = stats.capacity_bytes / stats.capacity * 2, .learn = false}};
    }
    Transformer model = Transformer::load(path_, options);
    KvCache cache = model.new_cache(8);
    (void)model.forward_step(cache, std::vector<TokenId>{1, 2, 3}, 0);
    fs::resize_file(path_, whole / 2);
    const std::string code =
        test::code_of([&] { (void)model.forward_step(cache, std::vector<TokenId>{4}, 3); });
    EXPECT_TRUE(code == "FileShrank" || code == "ShortRead") << code;
    EXPECT_EQ(cache.length(), 3u);
  }
}

}  // namespace
}  // namespace maglio

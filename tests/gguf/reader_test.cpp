#include "gguf/reader.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/gguf_builder.h"
#include "support/temp_dir.h"

namespace maglio {
namespace {

using test::Bytes;
using test::GgufBuilder;

Bytes numbered_bytes(size_t n, int first) {
  Bytes bytes(n);
  for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(static_cast<size_t>(first) + i);
  return bytes;
}

GgufBuilder small_model() {
  GgufBuilder builder;
  builder.string("general.architecture", "qwen3")
      .u32("qwen3.block_count", 2)
      .f32("qwen3.rope.freq_base", 1e6f)
      .strings("tokenizer.ggml.tokens", {"a", "", "bc"})
      .tensor("output_norm.weight", DType::F32, {3}, numbered_bytes(12, 1))
      .tensor("token_embd.weight", DType::Q8_0, {32, 3}, numbered_bytes(3 * 34, 20))
      .tensor("blk.0.attn_q.weight", DType::F16, {2, 3}, numbered_bytes(12, 200));
  return builder;
}

TEST(GgufFile, GivesMetadataAndTensorsAsTheyAreStored) {
  const Bytes bytes = small_model().bytes();
  for (const uint32_t version : {2u, 3u}) {
    const Bytes copy = small_model().version(version).bytes();
    const gguf::File file = gguf::File::parse(copy);
    EXPECT_EQ(file.version(), version);
    EXPECT_EQ(file.metadata().string("general.architecture"), "qwen3");
    EXPECT_EQ(file.metadata().uint("qwen3.block_count"), 2u);
    EXPECT_EQ(file.metadata().number("qwen3.rope.freq_base"), 1e6);
    EXPECT_EQ(file.metadata().strings("tokenizer.ggml.tokens"),
              (std::vector<std::string_view>{"a", "", "bc"}));
    ASSERT_EQ(file.tensors().size(), 3u);
    const gguf::TensorInfo& table = file.require("token_embd.weight");
    EXPECT_EQ(table.dtype, DType::Q8_0);
    EXPECT_EQ(table.dims, (std::vector<uint64_t>{32, 3}));
    EXPECT_EQ(table.n_values(), 96u);
    EXPECT_EQ(Bytes(table.data.begin(), table.data.end()), numbered_bytes(3 * 34, 20));
    EXPECT_EQ(file.find("absent"), nullptr);
  }
}

TEST(GgufFile, SplitSetEqualsTheSingleFileWhicheverPartIsNamed) {
  const test::TempDir folder;
  const auto paths = small_model().write_split(folder.path(), "model", 3);
  ASSERT_EQ(paths.size(), 3u);
  for (const auto& path : paths) {
    const gguf::File file = gguf::File::open(path);
    EXPECT_EQ(file.n_parts(), 3u);
    EXPECT_EQ(file.metadata().string("general.architecture"), "qwen3");
    ASSERT_EQ(file.tensors().size(), 3u);
    EXPECT_EQ(file.tensors()[2].name, "blk.0.attn_q.weight");
    const auto data = file.require("token_embd.weight").data;
    EXPECT_EQ(Bytes(data.begin(), data.end()), numbered_bytes(3 * 34, 20));
  }
}

}  // namespace
}  // namespace maglio

#include "gguf/reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "maglio/error.h"
#include "support/gguf_builder.h"
#include "support/hostile_gguf.h"
#include "support/temp_dir.h"

namespace maglio {
namespace {

using test::Bytes;
using test::GgufBuilder;

Bytes copy_of(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

TEST(GgufFile, GivesTensorsAsTheyAreStoredInVersions2And3) {
  for (const uint32_t version : {2u, 3u}) {
    const Bytes bytes = test::sample_gguf().version(version).bytes();
    const gguf::File file = gguf::File::parse(bytes);
    EXPECT_EQ(file.version(), version);
    EXPECT_EQ(file.alignment(), 32u);
    ASSERT_EQ(file.tensors().size(), 3u);
    EXPECT_EQ(file.tensors()[0].name, "output_norm.weight");
    const gguf::TensorInfo& table = file.require("token_embd.weight");
    EXPECT_EQ(table.dtype, DType::Q8_0);
    EXPECT_EQ(table.dims, (std::vector<uint64_t>{32, 3}));
    EXPECT_EQ(table.n_values(), 96u);
    EXPECT_EQ(copy_of(table.data), test::numbered_bytes(3 * 34, 20));
    EXPECT_EQ(copy_of(file.require("blk.0.attn_q.weight").data), test::numbered_bytes(12, 200));
  }
}

TEST(GgufFile, TensorDataIsAViewOfTheFileNotACopy) {
  const Bytes bytes = test::sample_gguf().bytes();
  const gguf::File file = gguf::File::parse(bytes);
  for (const gguf::TensorInfo& tensor : file.tensors()) {
    EXPECT_GE(tensor.data.data(), bytes.data());
    EXPECT_LE(tensor.data.data() + tensor.data.size(), bytes.data() + bytes.size());
    EXPECT_EQ((tensor.data.data() - bytes.data()) % 32, 0);
  }
}

TEST(GgufFile, OpensAFileWithTheSameContentAsParse) {
  const test::TempDir folder;
  const Bytes bytes = test::sample_gguf().bytes();
  test::write_file(folder / "model.gguf", bytes);
  const gguf::File parsed = gguf::File::parse(bytes);
  gguf::File opened = gguf::File::open(folder / "model.gguf");
  EXPECT_EQ(opened.n_parts(), 1u);
  EXPECT_EQ(opened.n_bytes(), bytes.size());
  ASSERT_EQ(opened.metadata().entries().size(), parsed.metadata().entries().size());
  const gguf::File moved = std::move(opened);
  for (const gguf::TensorInfo& tensor : parsed.tensors()) {
    const gguf::TensorInfo& twin = moved.require(tensor.name);
    EXPECT_EQ(twin.dims, tensor.dims);
    EXPECT_EQ(copy_of(twin.data), copy_of(tensor.data));
  }
}

TEST(GgufFile, EveryTensorTypeIsKnownByNameAndSize) {
  struct Type {
    uint32_t id;
    std::string_view name;
    uint64_t block_size;
    size_t block_bytes;
  };
  // ggml.h and ggml-common.h of llama.cpp (llama-cpp-python 0.3.36), sizes from its static_asserts.
  const Type types[] = {
      {0, "F32", 1, 4},         {1, "F16", 1, 2},         {2, "Q4_0", 32, 18},
      {3, "Q4_1", 32, 20},      {6, "Q5_0", 32, 22},      {7, "Q5_1", 32, 24},
      {8, "Q8_0", 32, 34},      {9, "Q8_1", 32, 36},      {10, "Q2_K", 256, 84},
      {11, "Q3_K", 256, 110},   {12, "Q4_K", 256, 144},   {13, "Q5_K", 256, 176},
      {14, "Q6_K", 256, 210},   {15, "Q8_K", 256, 292},   {16, "IQ2_XXS", 256, 66},
      {17, "IQ2_XS", 256, 74},  {18, "IQ3_XXS", 256, 98}, {19, "IQ1_S", 256, 50},
      {20, "IQ4_NL", 32, 18},   {21, "IQ3_S", 256, 110},  {22, "IQ2_S", 256, 82},
      {23, "IQ4_XS", 256, 136}, {24, "I8", 1, 1},         {25, "I16", 1, 2},
      {26, "I32", 1, 4},        {27, "I64", 1, 8},        {28, "F64", 1, 8},
      {29, "IQ1_M", 256, 56},   {30, "BF16", 1, 2},       {34, "TQ1_0", 256, 54},
      {35, "TQ2_0", 256, 66},   {39, "MXFP4", 32, 17},    {40, "NVFP4", 64, 36},
      {41, "Q1_0", 128, 18},    {42, "Q2_0", 64, 18},
  };
  for (const Type& type : types) {
    const Bytes bytes =
        GgufBuilder()
            .tensor("t", DType::F32, {type.block_size, 3}, Bytes(3 * type.block_bytes))
            .claim_type(type.id)
            .bytes();
    const gguf::File file = gguf::File::parse(bytes);
    EXPECT_EQ(to_string(file.require("t").dtype), type.name);
    EXPECT_EQ(file.require("t").data.size(), 3 * type.block_bytes) << type.name;
  }
}

TEST(GgufFile, VocabularyOnlyFileHasNoTensors) {
  const Bytes bytes = GgufBuilder().strings("tokenizer.ggml.tokens", {"a", "b"}).bytes();
  const gguf::File file = gguf::File::parse(bytes);
  EXPECT_TRUE(file.tensors().empty());
  EXPECT_EQ(file.metadata().strings("tokenizer.ggml.tokens")->size(), 2u);
  EXPECT_TRUE(gguf::File::parse(GgufBuilder().bytes()).tensors().empty());
}

TEST(GgufFile, DataIsPlacedByTheFilesOwnAlignment) {
  for (const uint32_t alignment : {8u, 16u, 64u, 4096u, 1u << 20}) {
    const Bytes bytes = GgufBuilder()
                            .alignment(alignment)
                            .tensor("a", DType::F32, {1}, test::numbered_bytes(4, 1))
                            .tensor("b", DType::F32, {1}, test::numbered_bytes(4, 9))
                            .bytes();
    const gguf::File file = gguf::File::parse(bytes);
    EXPECT_EQ(file.alignment(), alignment);
    EXPECT_EQ(file.require("b").data.data() - file.require("a").data.data(), alignment);
    EXPECT_EQ(copy_of(file.require("b").data), test::numbered_bytes(4, 9));
  }
}

TEST(GgufFile, TensorsMayLieInAnyOrderWithGaps) {
  const Bytes bytes = GgufBuilder()
                          .tensor("late", DType::F32, {8}, test::numbered_bytes(32, 1))
                          .claim_offset(96)
                          .tensor("early", DType::F32, {8}, test::numbered_bytes(32, 50))
                          .claim_offset(32)
                          .tensor("padding", DType::I8, {64}, Bytes(64))
                          .claim_offset(128)
                          .bytes();
  Bytes longer = bytes;
  longer.resize(bytes.size() + 64);
  const gguf::File file = gguf::File::parse(longer);
  EXPECT_EQ(copy_of(file.require("early").data), test::numbered_bytes(32, 50));
}

TEST(GgufFile, EmptyTensorLoadsAndATensorWithoutDimsIsOneValue) {
  const Bytes bytes = GgufBuilder()
                          .tensor("empty", DType::F32, {32, 0}, {})
                          .tensor("scalar", DType::F32, {}, test::numbered_bytes(4, 7))
                          .bytes();
  const gguf::File file = gguf::File::parse(bytes);
  EXPECT_TRUE(file.require("empty").data.empty());
  EXPECT_EQ(file.require("empty").n_values(), 0u);
  EXPECT_EQ(file.require("scalar").dims, std::vector<uint64_t>{1});
  EXPECT_EQ(copy_of(file.require("scalar").data), test::numbered_bytes(4, 7));
}

TEST(GgufFile, OddButLegalStringsAreKept) {
  const std::string odd("\xff\xfe\0 \xc3\x28", 6);
  const Bytes bytes = GgufBuilder()
                          .string("general.name", odd)
                          .u32(std::string(65535, 'k'), 1)
                          .u32("schl\xc3\xbcssel", 2)
                          .tensor(std::string(64, 'n'), DType::F32, {1}, Bytes(4))
                          .bytes();
  const gguf::File file = gguf::File::parse(bytes);
  EXPECT_EQ(file.metadata().string("general.name"), odd);
  EXPECT_EQ(file.metadata().uint(std::string(65535, 'k')), 1u);
  EXPECT_NE(file.find(std::string(64, 'n')), nullptr);
}

TEST(GgufFile, MissingTensorIsNamed) {
  const Bytes bytes = test::sample_gguf().bytes();
  const gguf::File file = gguf::File::parse(bytes, "some.gguf");
  EXPECT_EQ(file.find("blk.1.ffn_down.weight"), nullptr);
  try {
    file.require("blk.1.ffn_down.weight");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_file);
    EXPECT_EQ(error.code(), "MissingTensor");
    EXPECT_EQ(error.message(), "some.gguf: tensor 'blk.1.ffn_down.weight' is missing");
  }
}

TEST(GgufFile, PageHintsNeverChangeTheBytes) {
  const test::TempDir folder;
  const Bytes bytes = test::sample_gguf().bytes();
  test::write_file(folder / "model.gguf", bytes);
  const gguf::File opened = gguf::File::open(folder / "model.gguf");
  const gguf::File parsed = gguf::File::parse(bytes);  // not a mapping: hints must do nothing
  for (const gguf::File* file : {&opened, &parsed}) {
    for (const gguf::TensorInfo& tensor : file->tensors()) {
      const Bytes before = copy_of(tensor.data);
      file->prefetch(tensor.data);
      file->drop_pages(tensor.data);
      EXPECT_EQ(copy_of(tensor.data), before);
    }
  }
}

TEST(GgufFile, RefusesATensorOfAFileThatShrankAfterItWasOpened) {
  const test::TempDir folder;
  const auto path = folder / "model.gguf";
  test::sample_gguf().write(path);
  const gguf::File file = gguf::File::open(path);
  file.require("token_embd.weight");
  std::filesystem::resize_file(path, 100);
  try {
    file.require("token_embd.weight");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_EQ(error.code(), "FileShrank");
    EXPECT_NE(error.message().find(path.string()), std::string::npos);
  }
}

}  // namespace
}  // namespace maglio

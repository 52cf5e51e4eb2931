#include "gguf/shards.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/reader.h"
#include "maglio/error.h"
#include "support/gguf_builder.h"
#include "support/hostile_gguf.h"
#include "support/temp_dir.h"

namespace maglio {
namespace {

namespace fs = std::filesystem;
using test::Bytes;
using test::GgufBuilder;

class GgufShards : public testing::Test {
 protected:
  // Opening `named` must end in an Error of that code whose message contains `says`.
  void expect_refused(const fs::path& named, std::string_view code, const std::string& says) {
    try {
      gguf::File::open(named);
      ADD_FAILURE() << named << " was accepted; expected " << code << ": " << says;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_file);
      EXPECT_EQ(error.code(), code);
      EXPECT_NE(error.message().find(says), std::string::npos) << error.message();
    }
  }

  const test::TempDir folder_;
  const std::vector<fs::path> parts_ = test::sample_gguf().write_split(folder_.path(), "model", 3);
};

TEST_F(GgufShards, AnyPartOpensTheWholeSet) {
  for (const fs::path& part : parts_) {
    const gguf::File file = gguf::File::open(part);
    EXPECT_EQ(file.n_parts(), 3u);
    EXPECT_EQ(file.metadata().string("general.architecture"), "qwen3");
    ASSERT_EQ(file.tensors().size(), 3u);
    EXPECT_EQ(file.tensors()[0].name, "output_norm.weight");
    EXPECT_EQ(file.tensors()[1].name, "token_embd.weight");
    EXPECT_EQ(file.tensors()[2].name, "blk.0.attn_q.weight");
    EXPECT_EQ(file.n_bytes(),
              fs::file_size(parts_[0]) + fs::file_size(parts_[1]) + fs::file_size(parts_[2]));
  }
}

TEST_F(GgufShards, TensorsOfAllPartsEqualThoseOfTheSingleFile) {
  const Bytes bytes = test::sample_gguf().bytes();
  const gguf::File single = gguf::File::parse(bytes);
  const gguf::File set = gguf::File::open(parts_[1]);
  for (const gguf::TensorInfo& tensor : single.tensors()) {
    const gguf::TensorInfo& twin = set.require(tensor.name);
    EXPECT_EQ(twin.dtype, tensor.dtype);
    EXPECT_EQ(twin.dims, tensor.dims);
    EXPECT_EQ(Bytes(twin.data.begin(), twin.data.end()),
              Bytes(tensor.data.begin(), tensor.data.end()));
    set.prefetch(twin.data);
    set.drop_pages(twin.data);
  }
}

TEST_F(GgufShards, OpensByARelativePathToo) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  EXPECT_EQ(gguf::File::open("model-00002-of-00003.gguf").n_parts(), 3u);
  fs::current_path(before);
}

TEST_F(GgufShards, MissingPartsAreNamedWhicheverPartIsOpened) {
  fs::remove(parts_[2]);
  expect_refused(parts_[0], "MissingShard", parts_[2].string());
  expect_refused(parts_[1], "MissingShard", "1 of the 3 parts of the model are missing");
}

TEST_F(GgufShards, LongListsOfMissingPartsAreCut) {
  fs::path alone = folder_ / "big-00007-of-60000.gguf";
  GgufBuilder().u16("split.no", 6).u16("split.count", 60000).write(alone);
  expect_refused(alone, "MissingShard", "59999 of the 60000 parts of the model are missing");
  expect_refused(alone, "MissingShard", "big-00004-of-60000.gguf, …");
}

TEST_F(GgufShards, FolderIsNotAModel) {
  expect_refused(folder_.path(), "NotAFile", "found a folder");
}

TEST_F(GgufShards, RenamedPartIsRefusedWithTheNameThatItShouldHave) {
  fs::rename(parts_[1], folder_ / "other.gguf");
  expect_refused(folder_ / "other.gguf", "WrongShard",
                 "says that it is part 2 of 3; expected its name to end in -00002-of-00003.gguf");
  expect_refused(parts_[0], "MissingShard", parts_[1].string());
}

TEST_F(GgufShards, SwappedPartsAreRefused) {
  fs::rename(parts_[1], folder_ / "aside");
  fs::rename(parts_[2], parts_[1]);
  fs::rename(folder_ / "aside", parts_[2]);
  expect_refused(
      parts_[0], "WrongShard",
      parts_[1].string() + ": expected part 2 of 3, but the file says that it is part 3");
  expect_refused(parts_[1], "WrongShard", "part 3 of 3; expected its name to end in -00003-of");
}

TEST_F(GgufShards, PartOfAnotherSetIsRefused) {
  const test::TempDir other;
  const auto pair = test::sample_gguf().write_split(other.path(), "model", 2);
  fs::copy_file(pair[1], parts_[1], fs::copy_options::overwrite_existing);
  expect_refused(parts_[0], "WrongShard", parts_[1].string() + ": expected part 2 of 3");
}

TEST_F(GgufShards, PartOfAnotherModelShowsInItsTensorCount) {
  const test::TempDir other;
  const auto foreign = test::sample_gguf()
                           .tensor("more", DType::F32, {1}, Bytes(4))
                           .write_split(other.path(), "model", 3);
  fs::copy_file(foreign[2], parts_[2], fs::copy_options::overwrite_existing);
  expect_refused(parts_[0], "WrongShard",
                 parts_[2].string() +
                     ": the file belongs to another model: its metadata key "
                     "'split.tensors.count' differs from that of ");
}

TEST_F(GgufShards, PartOfAnotherModelShowsInACommonKey) {
  GgufBuilder()
      .string("general.architecture", "llama")
      .u16("split.no", 2)
      .u16("split.count", 3)
      .i32("split.tensors.count", 3)
      .tensor("blk.0.attn_q.weight", DType::F32, {1}, Bytes(4))
      .write(parts_[2]);
  expect_refused(parts_[0], "WrongShard", "'general.architecture' differs");
}

TEST_F(GgufShards, WholeFileInPlaceOfAPartIsRefused) {
  test::sample_gguf().write(parts_[2]);
  expect_refused(
      parts_[0], "WrongShard",
      parts_[2].string() + ": expected part 3 of 3, but the file says that it is part 1");
}

TEST_F(GgufShards, TensorInTwoPartsIsNamed) {
  GgufBuilder()
      .u16("split.no", 2)
      .u16("split.count", 3)
      .i32("split.tensors.count", 3)
      .tensor("output_norm.weight", DType::F32, {1}, Bytes(4))
      .write(parts_[2]);
  expect_refused(parts_[0], "DuplicateTensorName", "'output_norm.weight' appears twice");
}

TEST_F(GgufShards, PartWithoutItsTensorsIsRefused) {
  GgufBuilder()
      .u16("split.no", 2)
      .u16("split.count", 3)
      .i32("split.tensors.count", 3)
      .write(parts_[2]);
  expect_refused(parts_[0], "WrongShard",
                 "expected split.tensors.count = 3 tensors in all parts, found 2");
}

TEST_F(GgufShards, DamagedPartIsNamed) {
  fs::resize_file(parts_[1], fs::file_size(parts_[1]) - 1);
  expect_refused(parts_[0], "Truncated", parts_[1].string() + ": tensor 'token_embd.weight'");
}

TEST_F(GgufShards, PartAloneInMemoryIsRefused) {
  const Bytes bytes = GgufBuilder().u16("split.no", 0).u16("split.count", 2).bytes();
  EXPECT_THROW(gguf::File::parse(bytes), Error);
}

TEST_F(GgufShards, SetOfOneAndCountZeroAreWholeFiles) {
  const auto one = test::sample_gguf().write_split(folder_.path(), "one", 1);
  EXPECT_EQ(gguf::File::open(one[0]).tensors().size(), 3u);
  GgufBuilder().u16("split.count", 0).write(folder_ / "zero.gguf");
  EXPECT_EQ(gguf::File::open(folder_ / "zero.gguf").n_parts(), 1u);
}

TEST_F(GgufShards, SetKeepsItsOwnAlignment) {
  const auto set = GgufBuilder()
                       .alignment(64)
                       .tensor("a", DType::F32, {1}, test::numbered_bytes(4, 1))
                       .tensor("b", DType::F32, {1}, test::numbered_bytes(4, 5))
                       .write_split(folder_.path(), "aligned", 2);
  const gguf::File file = gguf::File::open(set[1]);
  EXPECT_EQ(file.alignment(), 64u);
  const auto data = file.require("b").data;
  EXPECT_EQ(Bytes(data.begin(), data.end()), test::numbered_bytes(4, 5));
}

TEST(ShardName, IsReadFromTheEndOfTheFileName) {
  const auto name = gguf::parse_shard_name("folder-00001-of-00002.gguf/m-1-00002-of-00013.gguf");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->number, 2u);
  EXPECT_EQ(name->count, 13u);
  EXPECT_EQ(name->path_of(13), "folder-00001-of-00002.gguf/m-1-00013-of-00013.gguf");
}

TEST(ShardName, IsNotSeenInOtherNames) {
  for (const char* path :
       {"model.gguf", "m-00003-of-00002.gguf", "m-00000-of-00002.gguf", "m-0001-of-0002.gguf",
        "m-00001-of-00002.bin", "m-00001_of-00002.gguf", "m-0000a-of-00002.gguf",
        "m-00001-of-00002.gguf/x", "", "-00001-of-00002.gguf", "m-+0001-of-00002.gguf"}) {
    EXPECT_FALSE(gguf::parse_shard_name(path)) << path;
  }
}

}  // namespace
}  // namespace maglio

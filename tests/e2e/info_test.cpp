// `maglio info` as a user runs it.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <string>
#include <string_view>

#include "model/config.h"
#include "support/gguf_builder.h"
#include "support/hostile_gguf.h"
#include "support/program.h"
#include "support/synthetic_model.h"
#include "support/temp_dir.h"

namespace maglio {
namespace {

using test::Bytes;
using test::GgufBuilder;
using test::ProgramResult;
using test::run_program;

// A file with the metadata of Qwen3-0.6B and one tensor: a table of 64 tokens in Q8_0.
GgufBuilder qwen3_0_6b_header() {
  const Config c = Config::qwen3_0_6b();
  GgufBuilder builder;
  builder.string("general.architecture", "qwen3")
      .u32("qwen3.context_length", static_cast<uint32_t>(c.n_ctx))
      .u32("qwen3.embedding_length", static_cast<uint32_t>(c.d_model))
      .u32("qwen3.feed_forward_length", static_cast<uint32_t>(c.d_ff))
      .u32("qwen3.block_count", static_cast<uint32_t>(c.n_layers))
      .u32("qwen3.attention.head_count", static_cast<uint32_t>(c.n_heads))
      .u32("qwen3.attention.head_count_kv", static_cast<uint32_t>(c.n_kv_heads))
      .u32("qwen3.attention.key_length", static_cast<uint32_t>(c.head_dim))
      .f32("qwen3.attention.layer_norm_rms_epsilon", c.norm_eps)
      .f32("qwen3.rope.freq_base", c.rope_base)
      .tensor("token_embd.weight", DType::Q8_0, {1024, 64}, Bytes(1024 * 64 / 32 * 34));
  return builder;
}

class Info : public testing::Test {
 protected:
  ProgramResult info_of(const GgufBuilder& builder) {
    builder.write(path_);
    return run_program({MAGLIO_BINARY, "info", path_});
  }

  const test::TempDir folder_;
  const std::string path_ = (folder_ / "model.gguf").string();
};

bool has_line(const std::string& text, std::string_view line) {
  return ("\n" + text).find("\n" + std::string(line) + "\n") != std::string::npos;
}

TEST_F(Info, ShowsTheMemoryOfAPositionInBothCaches) {
  const ProgramResult info = info_of(qwen3_0_6b_header());
  EXPECT_EQ(info.exit_code, 0) << info.err;
  EXPECT_TRUE(has_line(info.out, "  f16         114,688     448 MiB     4.4 GiB")) << info.out;
  EXPECT_TRUE(has_line(info.out, "  q8_0         60,928     238 MiB     2.3 GiB")) << info.out;
}

TEST_F(Info, ShowsHeaderMetadataTensorsAndTotals) {
  const ProgramResult info =
      info_of(qwen3_0_6b_header().tensor("output_norm.weight", DType::F32, {1024}, Bytes(4096)));
  EXPECT_EQ(info.exit_code, 0) << info.err;
  EXPECT_TRUE(has_line(info.out, "format     GGUF version 3, alignment 32")) << info.out;
  EXPECT_TRUE(has_line(info.out, "  qwen3.block_count = 28 (u32)")) << info.out;
  EXPECT_TRUE(has_line(info.out, "  qwen3.rope.freq_base = 1000000 (f32)")) << info.out;
  EXPECT_TRUE(
      has_line(info.out, "  token_embd.weight   Q8_0     [1024, 64]                      69,632"))
      << info.out;
  EXPECT_TRUE(
      has_line(info.out, "  Q8_0         1              65,536              69,632    8.50"))
      << info.out;
  EXPECT_TRUE(
      has_line(info.out, "  all          2              66,560              73,728    8.86"))
      << info.out;
}

// A mixture of 2 layers: 8 experts of 3 * 128 * 256 weights in Q8_0 each, 34 bytes for 32 of them.
test::SyntheticModel mixture() {
  return {.config = test::tiny_config(Architecture::qwen3moe)};
}

TEST_F(Info, SaysWhatWeightsTakeWhatIsAvailableAndWhatFits) {
  const ProgramResult info = info_of(mixture().builder());
  EXPECT_EQ(info.exit_code, 0) << info.err;
  EXPECT_TRUE(has_line(info.out, "weights    packed in memory, in the file")) << info.out;
  EXPECT_TRUE(has_line(info.out, "  experts     1.6 MiB     1.6 MiB")) << info.out;
  EXPECT_NE(info.out.find(" available; what fits: cache, context, memory it takes\n"),
            std::string::npos)
      << info.out;
  for (const char* way : {"  --experts packed        f16 ", "  --experts packed        q8_0",
                          "  --experts mmap          f16 ", "  --no-repack             q8_0"}) {
    EXPECT_NE(info.out.find(way), std::string::npos) << way << "\n" << info.out;
  }
  EXPECT_TRUE(has_line(info.out, "  --fit chooses --ctx 8192 --cache-type f16 --experts packed"))
      << info.out;
}

TEST_F(Info, SaysTheSameInJson) {
  mixture().builder().write(path_);
  const ProgramResult info = run_program({MAGLIO_BINARY, "info", "--json", path_});
  ASSERT_EQ(info.exit_code, 0) << info.err;
  const auto json = boost::json::parse(info.out).as_object();
  EXPECT_EQ(json.at("architecture"), "qwen3moe");
  EXPECT_EQ(json.at("weights").at("experts").at("in_file"), 2 * 8 * 3 * 128 * 256 / 32 * 34);
  EXPECT_EQ(json.at("kv_bytes_per_position").at("f16"), 2 * 2 * 2 * 32 * 2);
  EXPECT_EQ(json.at("plans").as_array().size(), 8u);
  EXPECT_EQ(json.at("fit").at("flags"), "--ctx 8192 --cache-type f16 --experts packed");
  EXPECT_GT(json.at("available_bytes").to_number<uint64_t>(), 0u);

  test::sample_gguf().write(path_);
  const auto other = boost::json::parse(run_program({MAGLIO_BINARY, "info", "--json", path_}).out);
  EXPECT_FALSE(other.as_object().contains("plans"));
  EXPECT_TRUE(other.at("cannot_run").is_string());
}

TEST_F(Info, EscapesBadBytesAndCutsLongLists) {
  const ProgramResult info = info_of(GgufBuilder()
                                         .string("general.name", "\xff\x1b[31m\n'red'")
                                         .string("general.description", std::string(1000, 'x'))
                                         .i32s("numbers", {1, 2, 3, 4, 5, 6, 7, 8, 9, -10})
                                         .strings("texts", {"a", "\xc3\xbc", std::string("\0", 1)})
                                         .bools("bools", {true, false}));
  EXPECT_EQ(info.exit_code, 0) << info.err;
  EXPECT_TRUE(has_line(info.out, R"(  general.name = '\xff\x1b[31m\n\'red\'' (string))"))
      << info.out;
  EXPECT_NE(info.out.find(std::string(72, 'x') + "… (1000 bytes)"), std::string::npos);
  EXPECT_TRUE(has_line(info.out, "  numbers = [1, 2, 3, 4, 5, 6, 7, 8, …] (array of 10 i32)"));
  EXPECT_TRUE(has_line(info.out, "  texts = ['a', '\xc3\xbc', '\\x00'] (array of 3 string)"));
  EXPECT_TRUE(has_line(info.out, "  bools = [true, false] (array of 2 bool)")) << info.out;
  EXPECT_EQ(std::ranges::count(info.out, '\x1b'), 0);
  EXPECT_TRUE(has_line(info.out, "tensors    none: the file is a vocabulary")) << info.out;

  const ProgramResult full = run_program({MAGLIO_BINARY, "info", "--full", path_});
  EXPECT_TRUE(has_line(full.out, "  numbers = [1, 2, 3, 4, 5, 6, 7, 8, 9, -10] (array of 10 i32)"));
  EXPECT_NE(full.out.find(std::string(1000, 'x') + "' (string)"), std::string::npos);
}

TEST_F(Info, DescribesAFileThatCannotBeRunAndSaysWhy) {
  const ProgramResult info = info_of(test::sample_gguf().string("general.type", "model"));
  EXPECT_EQ(info.exit_code, 0) << info.err;
  EXPECT_NE(info.out.find("\nmodel      cannot be run: "), std::string::npos) << info.out;
  EXPECT_NE(info.out.find("blk.0.attn_q.weight"), std::string::npos);
}

TEST_F(Info, EveryHostileFileEndsInOneLineAndExitCode1) {
  for (const test::HostileFile& file : test::hostile_files()) {
    test::write_file(path_, file.bytes);
    const ProgramResult info = run_program({MAGLIO_BINARY, "info", path_});
    EXPECT_EQ(info.exit_code, 1) << file.name << ": " << info.err;
    EXPECT_EQ(info.out, "") << file.name;
    EXPECT_EQ(std::ranges::count(info.err, '\n'), 1) << file.name << ": " << info.err;
    EXPECT_NE(info.err.find(file.says), std::string::npos) << file.name << ": " << info.err;
  }
}

TEST_F(Info, WithoutAModelIsBadUsage) {
  EXPECT_EQ(run_program({MAGLIO_BINARY, "info"}).exit_code, 2);
  EXPECT_EQ(run_program({MAGLIO_BINARY, "info", (folder_ / "absent.gguf").string()}).exit_code, 1);
}

}  // namespace
}  // namespace maglio

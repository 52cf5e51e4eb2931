// `maglio tokenize` as a user runs it, on a file that holds a vocabulary and nothing else.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "support/gguf_builder.h"
#include "support/program.h"
#include "support/temp_dir.h"

namespace maglio::test {
namespace {

class TokenizeCommand : public testing::Test {
 protected:
  TokenizeCommand() {
    GgufBuilder()
        .string("general.architecture", "qwen3")
        .string("tokenizer.ggml.model", "gpt2")
        .string("tokenizer.ggml.pre", "qwen2")
        .strings("tokenizer.ggml.tokens",
                 {"<|im_end|>", "h", "i", "hi", "<", "|", "m", "_", "e", "n", "d", ">", "Ċ"})
        .i32s("tokenizer.ggml.token_type", {3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})
        .strings("tokenizer.ggml.merges", {"h i"})
        .u32("tokenizer.ggml.bos_token_id", 1)
        .boolean("tokenizer.ggml.add_bos_token", true)
        .write(model_);
    std::ofstream(text_, std::ios::binary) << "hi<|im_end|>\n";
  }

  TempDir dir_;
  std::string model_ = dir_ / "vocabulary.gguf";
  std::string text_ = dir_ / "text.txt";
};

TEST_F(TokenizeCommand, PrintsOneIdALine) {
  const ProgramResult result = run_program({MAGLIO_BINARY, "tokenize", model_, text_});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "1\n3\n0\n12\n") << "BOS by policy, the last line feed kept";
  EXPECT_EQ(result.err, "");
}

TEST_F(TokenizeCommand, ReadsStandardInputByDefault) {
  EXPECT_EQ(run_program({MAGLIO_BINARY, "tokenize", model_, "--no-bos"}, "hi").out, "3\n");
}

TEST_F(TokenizeCommand, SpecialTokensCanStayText) {
  const ProgramResult result = run_program(
      {MAGLIO_BINARY, "tokenize", model_, "--no-bos", "--no-parse-special"}, "<|im_end|>");
  EXPECT_EQ(result.out, "4\n5\n2\n6\n7\n8\n9\n10\n5\n11\n");
}

TEST_F(TokenizeCommand, DecodePrintsTheBytes) {
  EXPECT_EQ(run_program({MAGLIO_BINARY, "tokenize", model_, "--decode"}, "3\n0\n12\n").out,
            "hi<|im_end|>\n");
  EXPECT_EQ(
      run_program({MAGLIO_BINARY, "tokenize", model_, "--decode", "--hide-special"}, "[3, 0]").out,
      "hi");
}

TEST_F(TokenizeCommand, AFaultIsOneLineOnStandardError) {
  for (const char* ids : {"99", "x", "-1"}) {
    const ProgramResult result = run_program({MAGLIO_BINARY, "tokenize", model_, "--decode"}, ids);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  EXPECT_EQ(run_program({MAGLIO_BINARY, "tokenize", model_, "/no/such/file"}).exit_code, 1);
  EXPECT_EQ(run_program({MAGLIO_BINARY, "tokenize", "/no/such/model", text_}).exit_code, 1);
}

TEST_F(TokenizeCommand, AnUnknownPreTokenizerIsSaidOnce) {
  const std::string other = dir_ / "other.gguf";
  GgufBuilder()
      .string("tokenizer.ggml.model", "gpt2")
      .string("tokenizer.ggml.pre", "brand-new")
      .strings("tokenizer.ggml.tokens", {"h", "i"})
      .strings("tokenizer.ggml.merges", {})
      .write(other);
  const ProgramResult result = run_program({MAGLIO_BINARY, "tokenize", other}, "hi");
  EXPECT_EQ(result.out, "0\n1\n");
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_NE(result.err.find("'brand-new'"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace maglio::test

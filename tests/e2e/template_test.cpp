// `maglio template` as a user runs it, on a file that holds a vocabulary and a template.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "support/gguf_builder.h"
#include "support/program.h"
#include "support/temp_dir.h"

namespace maglio::test {
namespace {

class TemplateCommand : public testing::Test {
 protected:
  TemplateCommand() {
    GgufBuilder()
        .string("general.architecture", "qwen3")
        .string("tokenizer.ggml.model", "gpt2")
        .string("tokenizer.ggml.pre", "qwen2")
        .strings("tokenizer.ggml.tokens",
                 {"<|im_end|>", "h", "i", "hi", "<", "|", "m", "_", "e", "n", "d", ">"})
        .i32s("tokenizer.ggml.token_type", {3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})
        .strings("tokenizer.ggml.merges", {"h i"})
        .string("tokenizer.chat_template",
                "{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}")
        .string("tokenizer.chat_template.tool_use", "{{ tools|length }}e")
        .write(model_);
  }
  ProgramResult run(std::string_view request, std::vector<std::string> more = {}) const {
    std::vector<std::string> args = {MAGLIO_BINARY, "template", model_, "--request", "-"};
    args.insert(args.end(), more.begin(), more.end());
    return run_program(args, request);
  }

  TempDir dir_;
  std::string model_ = dir_ / "vocabulary.gguf";
};

constexpr const char* kHi = R"({"messages": [{"role": "user", "content": "hi<|im_end|>"}]})";

TEST_F(TemplateCommand, PrintsThePromptAndNothingElse) {
  const ProgramResult result = run(kHi);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "hi<|im_end|><|im_end|>");
  EXPECT_EQ(result.err, "");
}

TEST_F(TemplateCommand, PrintsIdsInWhichUsersSayNoControlTokens) {
  EXPECT_EQ(run(kHi, {"--ids"}).out, "3\n4\n5\n2\n6\n7\n8\n9\n10\n5\n11\n0\n");
}

TEST_F(TemplateCommand, TakesTheTemplateForTools) {
  EXPECT_EQ(
      run(R"({"messages": [{"role": "user", "content": "x"}], "tools": [{"function": {"name": "f"}}]})")
          .out,
      "1e");
}

TEST_F(TemplateCommand, TakesATemplateFromAFileAndTheNativeOnes) {
  const std::string path = dir_ / "own.jinja";
  std::ofstream(path) << "[{{ messages[0].content }}]\n";
  EXPECT_EQ(run(kHi, {"--chat-template", path}).out, "[hi<|im_end|>]");
  EXPECT_EQ(run(kHi, {"--chat-template", "native"}).exit_code, 1) << "none of the four";
}

TEST_F(TemplateCommand, SaysWhatIsWrongAndWhere) {
  const ProgramResult shape = run(R"({"messages": [{"role": "user"}]})");
  EXPECT_EQ(shape.exit_code, 1);
  EXPECT_EQ(shape.out, "");
  EXPECT_NE(shape.err.find("/messages/0/content"), std::string::npos) << shape.err;

  const ProgramResult json = run("{\n \"messages\": [}");
  EXPECT_EQ(json.exit_code, 1);
  EXPECT_NE(json.err.find("expected JSON in UTF-8, but at line 2, byte 15"), std::string::npos)
      << json.err;

  const std::string path = dir_ / "wrong.jinja";
  std::ofstream(path) << "{% if %}";
  const ProgramResult wrong = run(kHi, {"--chat-template", path});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_NE(wrong.err.find("line 1, column 7"), std::string::npos) << wrong.err;

  EXPECT_EQ(run(kHi, {"--chat-template", dir_ / "absent"}).exit_code, 1);
  EXPECT_EQ(run_program({MAGLIO_BINARY, "template", model_}).exit_code, 2);
}

}  // namespace
}  // namespace maglio::test

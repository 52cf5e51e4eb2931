// The default model itself, where it has been fetched.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "support/program.h"

namespace maglio {
namespace {

using test::ProgramResult;
using test::run_program;

class DefaultModel : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(path_)) {
      GTEST_SKIP() << "SKIPPED: " << path_ << " is not there; `make model` fetches it";
    }
  }
  const std::string path_ = MAGLIO_SOURCE_DIR "/models/SmolLM2-135M-Instruct.Q4_1.gguf";
};

TEST_F(DefaultModel, NamesTheCapitalOfFrance) {
  const ProgramResult f = run_program(
      {MAGLIO_BINARY, "run", path_, "--chat", "What is the capital of France?", "--temp", "0"});
  EXPECT_EQ(f.exit_code, 0) << f.err;
  EXPECT_NE(f.out.find("Paris"), std::string::npos) << f.out;
}

TEST_F(DefaultModel, SaysTheSameOnAnyThreadCountAndInstructionSet) {
  std::string first;
  const std::pair<const char*, const char*> machines[] = {
      {"1", ""}, {"2", ""}, {"5", ""}, {"2", "scalar"}};
  for (const auto& [threads, isa] : machines) {
    const ProgramResult f =
        run_program({MAGLIO_BINARY, "run", path_, "--chat", "Write a haiku.", "--seed", "42",
                     "--max-tokens", "12", "--threads", threads},
                    "", {{"MAGLIO_ISA", isa}});
    EXPECT_EQ(f.exit_code, 0) << f.err;
    if (first.empty()) first = f.out;
    EXPECT_EQ(f.out, first) << threads << " " << isa;
  }
}

TEST_F(DefaultModel, VerifiesItsCache) {
  const ProgramResult f = run_program(
      {MAGLIO_BINARY, "run", path_, "--prompt", "Once upon a time", "--verify-cache", "8"});
  EXPECT_EQ(f.exit_code, 0) << f.out;
}

}  // namespace
}  // namespace maglio

#include <gtest/gtest.h>

#include <string>

#include "support/program.h"
#include "support/temp_dir.h"

namespace maglio {
namespace {

using test::ProgramResult;
using test::run_program;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Usage, WithoutArgumentsPrintsTheUsageAndExits2) {
  const ProgramResult f = run_program({MAGLIO_BINARY});
  EXPECT_EQ(f.exit_code, 2);
  EXPECT_EQ(f.out, "");
  for (const char* command : {"run", "tokenize", "info", "bench"}) EXPECT_TRUE(has(f.err, command));
}

TEST(Usage, HelpExits0AndShowsDefaultsAndUnits) {
  EXPECT_EQ(run_program({MAGLIO_BINARY, "--help"}).exit_code, 0);
  const ProgramResult f = run_program({MAGLIO_BINARY, "run", "--help"});
  EXPECT_EQ(f.exit_code, 0);
  EXPECT_TRUE(has(f.out, "--top-k"));
  EXPECT_TRUE(has(f.out, "MAGLIO_TOP_K"));
  EXPECT_TRUE(has(f.out, "tokens"));
  EXPECT_EQ(f.err, "");
}

TEST(Usage, VersionNamesBuildAndInstructionSet) {
  const ProgramResult f = run_program({MAGLIO_BINARY, "--version"}, "", {{"MAGLIO_ISA", "scalar"}});
  EXPECT_EQ(f.exit_code, 0);
  EXPECT_TRUE(f.out.starts_with("maglio "));
  EXPECT_TRUE(has(f.out, "instruction set scalar"));
}

TEST(Usage, BadUsageExits2) {
  EXPECT_EQ(run_program({MAGLIO_BINARY, "fly"}).exit_code, 2);
  EXPECT_EQ(run_program({MAGLIO_BINARY, "run"}).exit_code, 2);
  EXPECT_EQ(run_program({MAGLIO_BINARY, "run", "m.gguf", "--temp", "hot"}).exit_code, 2);
  EXPECT_EQ(run_program({MAGLIO_BINARY, "run", "m.gguf", "--fly"}).exit_code, 2);
  EXPECT_EQ(run_program({MAGLIO_BINARY, "run", "m.gguf", "--chat", "a", "--prompt", "b"}).exit_code,
            2);
  EXPECT_EQ(run_program({MAGLIO_BINARY, "bench"}).exit_code, 2);
}

TEST(Usage, StatedFailureExits1WithOneLine) {
  const test::TempDir dir;
  const ProgramResult f = run_program({MAGLIO_BINARY, "run", dir / "absent.gguf", "--chat", "Hi"});
  EXPECT_EQ(f.exit_code, 1);
  EXPECT_EQ(f.out, "");
  EXPECT_EQ(std::count(f.err.begin(), f.err.end(), '\n'), 1);
  EXPECT_TRUE(f.err.starts_with("maglio: "));
  EXPECT_TRUE(has(f.err, "absent.gguf"));
}

TEST(Usage, InstructionSetThatIsNotThereExits1) {
  const ProgramResult f = run_program({MAGLIO_BINARY, "--version"}, "", {{"MAGLIO_ISA", "mmx"}});
  EXPECT_EQ(f.exit_code, 1);
  EXPECT_TRUE(has(f.err, "not available here"));
}

}  // namespace
}  // namespace maglio

// Statements of the chapter's section 12.9 that no other test pins (docs/coverage.md).
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/program.h"
#include "support/synthetic_model.h"
#include "support/temp_dir.h"

namespace maglio {
namespace {

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Keys and values rounded to eight bits must show in the logits, and in both types a decode step
// must give what a whole pass gives.
TEST(CacheType, Q8_0IsUsedAndVerifies) {
  const test::TempDir dir;
  const std::string model = dir / "model.gguf";
  test::SyntheticModel{.config = test::tiny_config(Architecture::qwen3)}.builder().write(model);
  const auto run = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {MAGLIO_BINARY, "run", model, "--threads", "1", "--prompt-ids",
                                 "72,101,108,108,111"});
    return test::run_program(flags);
  };
  const std::string f16 = dir / "f16", standard = dir / "standard", q8_0 = dir / "q8_0";
  EXPECT_EQ(run({"--logits-out", standard}).exit_code, 0);
  EXPECT_EQ(run({"--logits-out", f16, "--cache-type", "f16"}).exit_code, 0);
  EXPECT_EQ(run({"--logits-out", q8_0, "--cache-type", "q8_0"}).exit_code, 0);
  EXPECT_EQ(content_of(standard), content_of(f16)) << "f16 is the default";
  EXPECT_NE(content_of(q8_0), content_of(f16));
  EXPECT_EQ(content_of(q8_0).size(), 320 * sizeof(float));
  for (const char* type : {"f16", "q8_0"}) {
    EXPECT_EQ(run({"--verify-cache", "8", "--cache-type", type}).exit_code, 0) << type;
  }
}

}  // namespace
}  // namespace maglio

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "support/program.h"
#include "support/synthetic_model.h"
#include "support/temp_dir.h"

namespace maglio {
namespace {

// The peak of a process that loads the file and does nothing else, in bytes.
uint64_t peak_of_loading(const std::filesystem::path& file, int n_threads) {
  const test::ProgramResult f =
      test::run_program({MAGLIO_LOAD_AND_REPORT, file.string(), std::to_string(n_threads)});
  EXPECT_EQ(f.exit_code, 0) << f.err;
  return f.exit_code == 0 ? std::stoull(f.out) : 0;
}

// 3 layers of 2048, more than 100 MB in Q4_K; the head is a sixth of it.
Config large_config() {
  Config c = test::tiny_config(Architecture::qwen3);
  c.d_model = 2048;
  c.n_layers = 3;
  c.d_ff = 8192;
  c.head_dim = 128;
  c.vocab_size = 16'000;
  c.n_heads = 16;
  c.n_kv_heads = 8;
  return c;
}

TEST(Loading, MemoryNeverHoldsMoreThanTheFileAndATenth) {
  const test::TempDir dir;
  const auto tiny = dir / "tiny.gguf", large = dir / "large.gguf";
  test::SyntheticModel{.config = test::tiny_config(Architecture::qwen3)}.builder().write(tiny);
  for (const DType format : {DType::Q8_0, DType::Q4_K}) {
    test::SyntheticModel{.config = large_config(), .format = format}.builder().write(large);
    const uint64_t file = std::filesystem::file_size(large);
    EXPECT_GT(file, uint64_t{100} << 20);
    for (const int n_threads : {1, 2}) {
      const uint64_t program = peak_of_loading(tiny, n_threads);  // code, stacks, small tables
      const uint64_t peak = peak_of_loading(large, n_threads);
      EXPECT_LE(peak, program + file + file / 10)
          << to_string(format) << ", " << n_threads << " threads: peak " << peak << ", file "
          << file << ", program " << program;
    }
  }
}

}  // namespace
}  // namespace maglio

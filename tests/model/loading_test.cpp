#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "maglio/error.h"
#include "model/kv_cache.h"
#include "model/transformer.h"
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

// A process that reads what has been cut off a mapped file is ended by the system.
TEST(Loading, AFileThatIsCutWhileInUseIsAnErrorAndNotTheEnd) {
  const test::TempDir dir;
  const auto path = dir / "model.gguf";
  const std::vector<TokenId> ids = {1, 2, 3};
  for (const WeightStorage storage : {WeightStorage::packed, WeightStorage::mapped}) {
    test::SyntheticModel{.config = test::tiny_config(Architecture::qwen3)}.builder().write(path);
    Transformer model = Transformer::load(path, {.n_threads = 1, .weights = storage});
    KvCache cache = model.new_cache(8);
    std::filesystem::resize_file(path, 10'000);
    if (storage == WeightStorage::packed) {
      EXPECT_EQ(model.forward_step(cache, ids, 0).size(), 320u) << "nothing is read any more";
      continue;
    }
    try {
      (void)model.forward_step(cache, ids, 0);
      ADD_FAILURE() << "was computed";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), "FileShrank") << error.what();
      EXPECT_EQ(cache.length(), 0u);
    }
  }
}

}  // namespace
}  // namespace maglio

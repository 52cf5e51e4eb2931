#include "kernels/tested_kernels.h"

#include <gtest/gtest.h>

#include <string>

namespace maglio {
namespace {

bool is_tested(const std::string& name) {
  for (const Kernels* kernels : test::tested_kernels()) {
    if (kernels->name == name) return true;
  }
  return false;
}

#if defined(__x86_64__)
TEST(TestedKernels, Avx512IsAmongThemWithoutAvx512) {
#if !defined(MAGLIO_TEST_SIMDE)
  GTEST_SKIP() << "skipped: simde/x86/avx512.h is missing (tools/setup.sh test)";
#endif
  if (!cpu_features().avx2) GTEST_SKIP() << "skipped: SIMDe's code needs AVX2";
  EXPECT_TRUE(is_tested("avxvnni over SIMDe"));
  EXPECT_TRUE(is_tested("avx512 over SIMDe"));
  EXPECT_TRUE(is_tested("avx512vnni over SIMDe"));
}
#endif

TEST(TestedKernels, EveryTableOfThisMachineIsAmongThem) {
  for (const Kernels* kernels : available_kernels()) EXPECT_TRUE(is_tested(kernels->name));
}

}  // namespace
}  // namespace maglio

#include "kernels/registry.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "kernels/cpu.h"
#include "maglio/error.h"

namespace maglio {
namespace {

std::string message_for(std::string_view name) {
  try {
    find_kernels(name);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::unsupported);
    EXPECT_EQ(e.code(), "IsaNotAvailable");
    return e.message();
  }
  return "";
}

TEST(Registry, TheScalarTableIsAlwaysThere) {
  ASSERT_FALSE(available_kernels().empty());
  EXPECT_STREQ(available_kernels().front()->name, "scalar");
  EXPECT_EQ(find_kernels("scalar"), &kernels_scalar);
}

TEST(Registry, AnEmptyNameMeansTheBestTable) {
  EXPECT_EQ(find_kernels(""), available_kernels().back());
}

TEST(Registry, EveryAvailableTableIsFoundByItsName) {
  for (const Kernels* k : available_kernels()) EXPECT_EQ(find_kernels(k->name), k);
}

TEST(Registry, AnInstructionSetThatIsNotHereIsRefusedByName) {
  for (const char* name :
       {"avx2", "avxvnni", "avx512", "avx512vnni", "neon", "neon_i8mm", "sse9"}) {
    bool here = false;
    for (const Kernels* k : available_kernels()) here = here || std::string_view(name) == k->name;
    if (here) continue;
    const std::string message = message_for(name);
    EXPECT_NE(message.find("not available here"), std::string::npos) << message;
    EXPECT_NE(message.find(name), std::string::npos) << message;
    EXPECT_NE(message.find("scalar"), std::string::npos) << "lists what is available: " << message;
  }
}

#if defined(__x86_64__)
TEST(Registry, Avx2IsOfferedExactlyWhereTheMachineHasIt) {
  const bool offered = find_kernels("")->name != std::string_view("scalar");
  EXPECT_EQ(offered, cpu_features().avx2);
  // The compiler's own detection asks for the same registers; it must not know more than ours.
  if (cpu_features().avx2) {
    EXPECT_TRUE(__builtin_cpu_supports("avx2"));
    EXPECT_TRUE(__builtin_cpu_supports("fma"));
  }
}
#endif

// The processor's own word, by another way than the registry's.
std::string best_for_this_processor() {
#if defined(__x86_64__)
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx512) return __builtin_cpu_supports("avx512vnni") ? "avx512vnni" : "avx512";
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return "scalar";
  return __builtin_cpu_supports("avxvnni") ? "avxvnni" : "avx2";
#elif defined(__aarch64__)
  uint64_t isar0 = 0;
  uint64_t isar1 = 0;
  __asm__("mrs %0, ID_AA64ISAR0_EL1" : "=r"(isar0));
  __asm__("mrs %0, ID_AA64ISAR1_EL1" : "=r"(isar1));
  if (((isar0 >> 44) & 15u) == 0) return "scalar";           // field DP
  return ((isar1 >> 52) & 15u) != 0 ? "neon_i8mm" : "neon";  // field I8MM
#else
  return "scalar";
#endif
}

// MAGLIO_EXPECTED_ISA: what a caller knows of the processor, such as an emulated one.
TEST(Registry, TheBestTableIsTheOneForThisProcessor) {
  const char* expected = std::getenv("MAGLIO_EXPECTED_ISA");
  EXPECT_EQ(find_kernels("")->name,
            expected != nullptr ? std::string(expected) : best_for_this_processor());
}

}  // namespace
}  // namespace maglio

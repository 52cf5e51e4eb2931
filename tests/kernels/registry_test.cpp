#include "kernels/registry.h"

#include <gtest/gtest.h>

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
  for (const char* name : {"avx2", "avxvnni", "avx512", "avx512vnni", "neon", "sse9"}) {
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

}  // namespace
}  // namespace maglio

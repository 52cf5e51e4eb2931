// The kernel tables that the tests of this room compare: all that this machine can run, and those
// that are built a second time, for tests alone, in a form in which it can (docs/kernels.md).
#pragma once

#include <vector>

#include "kernels/cpu.h"
#include "kernels/registry.h"

namespace maglio {

#if defined(__x86_64__)
// AVX-VNNI in the encoding of AVX-512.
extern const Kernels kernels_avxvnni_evex;
#endif
#if defined(MAGLIO_TEST_SIMDE)
// On AVX2, in intrinsics that SIMDe computes.
extern const Kernels kernels_avxvnni_over_simde;
extern const Kernels kernels_avx512_over_simde;
extern const Kernels kernels_avx512vnni_over_simde;
#endif

}  // namespace maglio

namespace maglio::test {

inline std::vector<const Kernels*> tested_kernels() {
  std::vector<const Kernels*> tables = available_kernels();
#if defined(__x86_64__)
  const CpuFeatures cpu = cpu_features();
  if (!cpu.avx_vnni && cpu.avx512_vnni) tables.push_back(&kernels_avxvnni_evex);
#endif
#if defined(MAGLIO_TEST_SIMDE)
  if (cpu.avx2) {
    tables.push_back(&kernels_avxvnni_over_simde);
    tables.push_back(&kernels_avx512_over_simde);
    tables.push_back(&kernels_avx512vnni_over_simde);
  }
#endif
  return tables;
}

}  // namespace maglio::test

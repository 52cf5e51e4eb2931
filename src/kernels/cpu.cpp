#include "kernels/cpu.h"

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace maglio {

#if defined(__x86_64__)
namespace {

struct CpuidWords {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// All zero where the leaf does not exist.
CpuidWords cpuid(uint32_t leaf, uint32_t subleaf) {
  CpuidWords r;
  if (__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) return {};
  return r;
}

// The register states that the operating system saves. Requires: OSXSAVE.
uint64_t xcr0() {
  uint32_t low = 0;
  uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

bool has(uint32_t word, int bit) {
  return ((word >> bit) & 1u) != 0;
}

}  // namespace

CpuFeatures cpu_features() {
  constexpr uint64_t kYmmState = 0x6;   // XMM, YMM
  constexpr uint64_t kZmmState = 0xe6;  // and opmask, upper halves of ZMM0-15, ZMM16-31
  const CpuidWords leaf1 = cpuid(1, 0);
  const CpuidWords leaf7 = cpuid(7, 0);
  const CpuidWords leaf7_1 = leaf7.eax >= 1 ? cpuid(7, 1) : CpuidWords{};
  const uint64_t saved = has(leaf1.ecx, 27) ? xcr0() : 0;

  CpuFeatures f;
  const bool ymm = (saved & kYmmState) == kYmmState;
  const bool zmm = (saved & kZmmState) == kZmmState;
  f.avx2 = ymm && has(leaf7.ebx, 5) && has(leaf1.ecx, 12) && has(leaf1.ecx, 29);  // FMA, F16C
  f.avx_vnni = f.avx2 && has(leaf7_1.eax, 4);
  f.avx512 = f.avx2 && zmm && has(leaf7.ebx, 16) && has(leaf7.ebx, 17) && has(leaf7.ebx, 30) &&
             has(leaf7.ebx, 31);
  f.avx512_vnni = f.avx512 && has(leaf7.ecx, 11);
  return f;
}

#elif defined(__aarch64__)

CpuFeatures cpu_features() {
  constexpr unsigned long kDotProduct = 1ul << 20;     // HWCAP_ASIMDDP
  constexpr unsigned long kMatrixProduct = 1ul << 13;  // HWCAP2_I8MM
  CpuFeatures f;
  f.neon = (getauxval(AT_HWCAP) & kDotProduct) != 0;
  f.neon_i8mm = f.neon && (getauxval(AT_HWCAP2) & kMatrixProduct) != 0;
  return f;
}

#else

CpuFeatures cpu_features() {
  return {};
}

#endif

}  // namespace maglio

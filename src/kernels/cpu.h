// What this processor can run, asked of the hardware and of the operating system.
//
// An instruction set is usable only when the processor has it (CPUID) and the system saves its
// registers across context switches (XCR0, read by XGETBV). A machine may have the first without
// the second: under some hypervisors, or with AVX disabled at boot.
// Source: Intel SDM vol. 1, sections 13.3 and 14.3; vol. 2, CPUID.
#pragma once

namespace maglio {

struct CpuFeatures {
  bool avx2 = false;         // with FMA and F16C
  bool avx_vnni = false;     // 8-bit dot products on ymm registers
  bool avx512 = false;       // F, BW, DQ, VL
  bool avx512_vnni = false;  // and 8-bit dot products on zmm registers
  bool neon = false;         // with dot products
  bool neon_i8mm = false;    // and products of 8-bit matrices
};

// Thread-safe; asks the hardware at each call.
CpuFeatures cpu_features();

}  // namespace maglio

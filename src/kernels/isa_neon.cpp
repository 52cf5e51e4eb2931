// The NEON unit (AArch64 with dot products).
// clang-format off
#include "kernels/simd/neon.h"
#include "kernels/generic/table.inl"
// clang-format on

namespace maglio {

constinit const Kernels kernels_neon = make_table("neon");

}  // namespace maglio

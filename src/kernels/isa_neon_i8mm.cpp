// The NEON unit of processors with matrix instructions for bytes (i8mm).
// clang-format off
#include "kernels/simd/neon.h"
#include "kernels/i8mm/matmul_i8mm.inl"
// clang-format on

namespace maglio {

constinit const Kernels kernels_neon_i8mm = make_i8mm_table("neon_i8mm");

}  // namespace maglio

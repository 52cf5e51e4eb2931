// The AVX2 unit (with FMA and F16C).
// clang-format off
#include "kernels/simd/avx2_dot.h"
#include "kernels/generic/table.inl"
// clang-format on

namespace maglio {

constinit const Kernels kernels_avx2 = make_table("avx2");

}  // namespace maglio

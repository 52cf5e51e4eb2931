// The AVX-512 (F, BW, DQ, VL) unit.
// clang-format off
#include "kernels/simd/avx512_dot.h"
#include "kernels/generic/table.inl"
// clang-format on

namespace maglio {

constinit const Kernels kernels_avx512 = make_table("avx512");

}  // namespace maglio

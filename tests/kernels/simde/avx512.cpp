// The unit isa_avx512.cpp over AVX2.
// clang-format off
#include "kernels/simde/avx512_over_avx2.h"
#include "kernels/simd/avx512_dot.h"
#include "kernels/generic/table.inl"
// clang-format on

namespace maglio {

extern const Kernels kernels_avx512_over_simde;
constinit const Kernels kernels_avx512_over_simde = make_table("avx512 over SIMDe");

}  // namespace maglio

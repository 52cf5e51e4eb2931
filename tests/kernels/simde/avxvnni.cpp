// The unit isa_avxvnni.cpp over AVX2.
// clang-format off
#include "kernels/simde/avx512_over_avx2.h"
#include "kernels/simd/avxvnni_dot.h"
#include "kernels/generic/table.inl"
// clang-format on

namespace maglio {

extern const Kernels kernels_avxvnni_over_simde;
constinit const Kernels kernels_avxvnni_over_simde = make_table("avxvnni over SIMDe");

}  // namespace maglio

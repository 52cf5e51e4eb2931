// The AVX-512 VNNI unit.
// clang-format off
#include "kernels/simd/avx512vnni_dot.h"
#include "kernels/generic/table.inl"
// clang-format on

namespace maglio {

constinit const Kernels kernels_avx512vnni = make_table("avx512vnni");

}  // namespace maglio

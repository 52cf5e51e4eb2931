// The scalar unit: the specification of every kernel.
// clang-format off
#include "kernels/simd/scalar.h"
#include "kernels/generic/table.inl"
// clang-format on

namespace maglio {

constinit const Kernels kernels_scalar = make_table("scalar");

}  // namespace maglio

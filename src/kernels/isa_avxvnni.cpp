// The AVX-VNNI unit: AVX2 and dot products of small integers.
//
// MAGLIO_TABLE names the table where the tests build this unit a second time.
// clang-format off
#include "kernels/simd/avxvnni_dot.h"
#include "kernels/generic/table.inl"
// clang-format on

namespace maglio {

#ifndef MAGLIO_TABLE
#define MAGLIO_TABLE kernels_avxvnni
#endif
extern const Kernels MAGLIO_TABLE;
constinit const Kernels MAGLIO_TABLE = make_table("avxvnni");

}  // namespace maglio

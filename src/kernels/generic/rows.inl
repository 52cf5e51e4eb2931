// Kernels that work on one row.
#pragma once

#include "kernels/kernels.h"

namespace maglio {
namespace {

constexpr RowKernels row_kernels() {
  return {};
}

}  // namespace
}  // namespace maglio

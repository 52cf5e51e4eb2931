// The kernel table that tests outside of tests/kernels run on.
#pragma once

#include "kernels/kernels.h"

namespace maglio::test {

const Kernels& test_kernels();

}  // namespace maglio::test

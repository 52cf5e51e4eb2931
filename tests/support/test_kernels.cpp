#include "support/test_kernels.h"

#include "kernels/registry.h"

namespace maglio::test {

const Kernels& test_kernels() {
  return active_kernels();
}

}  // namespace maglio::test

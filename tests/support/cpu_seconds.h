// CPU time of this process: a busy machine makes no test of it fail, as wall time would.
#pragma once

#include <ctime>

namespace maglio::test {

inline double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

}  // namespace maglio::test

// What operations need, for tests: a pool, an arena with an open scope, a kernel table; and packed
// matrices made from the bytes of a weight format.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/aligned_bytes.h"
#include "base/thread_pool.h"
#include "kernels/registry.h"
#include "ops/context.h"
#include "ops/linear.h"

namespace maglio::test {

// Rows of a matrix [n_out, n_in], as a file stores them, as a raw matrix, which borrows them.
inline WeightMatrix raw_matrix(DType dtype,
                               size_t n_out,
                               size_t n_in,
                               std::span<const std::byte> rows) {
  return {.dtype = dtype, .n_out = n_out, .n_in = n_in, .rows = rows.data()};
}

class OpFixture {
 public:
  explicit OpFixture(size_t n_threads = 1, const Kernels& kernels = active_kernels())
      : pool_(n_threads), scope_(arena_), cx{pool_, arena_, kernels} {}

  // The same rows in panels. Lives as long as the fixture.
  WeightMatrix pack(DType dtype, size_t n_out, size_t n_in, std::span<const std::byte> rows);

 private:
  ThreadPool pool_;
  Arena arena_;
  Arena::Scope scope_;
  std::vector<AlignedBytes> panels_;

 public:
  Context cx;
};

}  // namespace maglio::test

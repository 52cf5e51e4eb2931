// How operations that treat each row alone share the rows among threads.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/thread_pool.h"
#include "ops/context.h"

namespace maglio {

// Numbers a thread should have to work on before waking it pays: about 2 us of a row kernel,
// against the 0.1 to 0.4 us that fork and join were measured to cost (docs/numerics.md).
inline constexpr size_t kNumbersWorthAThread = 8192;

// Calls f(row) once for every row in [0, n_rows), on the pool where that pays. Rows are
// independent, so their division changes no bit.
template <class F>
void for_each_row(Context& cx, size_t n_rows, size_t numbers_per_row, F&& f) {
  const size_t grain =
      std::max<size_t>(1, kNumbersWorthAThread / std::max<size_t>(1, numbers_per_row));
  cx.pool.parallel_for(n_rows, grain, [&f](size_t begin, size_t end, size_t) {
    for (size_t row = begin; row < end; ++row) f(row);
  });
}

}  // namespace maglio

#include "ops/norm.h"

#include "ops/rows.h"

namespace maglio::detail {

void rms_norm(
    Context& cx, const RowsToNorm& rows, std::span<const float> weight, float eps, float* out) {
  const size_t width = weight.size();
  for_each_row(cx, rows.n_rows, width, [&](size_t row) {
    cx.kernels.rows.rms_norm(rows.x + row * rows.stride, weight.data(), eps, width,
                             out + row * width);
  });
}

}  // namespace maglio::detail

#include "ops/residual.h"

#include <algorithm>
#include <cassert>

#include "ops/rows.h"

namespace maglio {

void add(Context& cx, Tensor<float, Seq, Embed> x, Tensor<const float, Seq, Embed> contribution) {
  const size_t n_rows = x.extent<Seq>();
  const size_t width = x.extent<Embed>();
  assert(contribution.extent<Seq>() == n_rows && contribution.extent<Embed>() == width);
  for_each_row(cx, n_rows, width, [&](size_t row) {
    cx.kernels.rows.add(x.select<Seq>(row).span().data(),
                        contribution.select<Seq>(row).span().data(), width);
  });
}

namespace detail {

void add_to_rows(Context& cx, float* x, size_t stride, size_t n_rows, std::span<const float> bias) {
  for_each_row(cx, n_rows, bias.size(), [&](size_t row) {
    cx.kernels.rows.add(x + row * stride, bias.data(), bias.size());
  });
}

void keep_rows(float* x, size_t stride, size_t width, std::span<const size_t> rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    assert(rows[i] >= i && (i == 0 || rows[i] > rows[i - 1]));
    if (rows[i] != i) std::copy_n(x + rows[i] * stride, width, x + i * stride);
  }
}

}  // namespace detail
}  // namespace maglio

#include "ops/share.h"

#include <cassert>

#include "ops/rows.h"

namespace maglio {
namespace {

// The softmax of (x, 0), in the router's order of operations: no exp of it overflows.
float sigmoid(const RowKernels& rows, float x) {
  const float logits[2] = {x, 0};
  float e[2];
  const float sum = rows.exp_sum(logits, rows.max(logits, 2), 2, e);
  return e[0] / sum;
}

}  // namespace

void add_share(Context& cx,
               Tensor<float, Seq, Embed> out,
               Tensor<const float, Seq, Share> share,
               Tensor<float, Seq, Embed> y) {
  const size_t n = out.extent<Embed>();
  assert(y.extent<Seq>() == out.extent<Seq>() && y.extent<Embed>() == n);
  for_each_row(cx, out.extent<Seq>(), n, [&](size_t row) {
    float* const part = y.select<Seq>(row).span().data();
    const float factor = sigmoid(cx.kernels.rows, share(row, 0));
    cx.kernels.rows.scale(part, factor, n, part);
    cx.kernels.rows.add(out.select<Seq>(row).span().data(), part, n);
  });
}

}  // namespace maglio

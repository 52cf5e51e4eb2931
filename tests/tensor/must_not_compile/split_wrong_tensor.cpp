// expect: mismatched types .maglio::Flat<A, B>. and .maglio::Embed.
// The residual stream has no heads to split.
#include "tensor/tensor.h"

using namespace maglio;

auto mistake(Tensor<float, Seq, Embed> x, Tensor<float, Seq, Query> q) {
#ifdef CORRECTED
  return split(q, 64);
#else
  return split(x, 64);
#endif
}

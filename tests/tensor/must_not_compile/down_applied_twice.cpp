// expect: deduced conflicting types for parameter .Contracted. ..maglio::Embed. and .maglio::Ff..
// The down projection leads out of the feed-forward block; there is no way to go down again.
#include "ops/linear.h"

using namespace maglio;

void mistake(Context& cx, Tensor<float, Seq, Ff> x, const Weight<Embed, Ff>& down) {
  const Tensor<float, Seq, Embed> once = linear(cx, x, down);
#ifndef CORRECTED
  linear(cx, once, down);
#endif
  (void)once;
}

// expect: deduced conflicting types for parameter .Contracted.
// Rounded rows keep the name of their axis.
#include "ops/linear.h"

using namespace maglio;

auto mistake(Context& cx,
             Tensor<float, Seq, Embed> x,
             const Weight<Ff, Embed>& up,
             const Weight<Embed, Ff>& down) {
  const QuantRows<Seq, Embed> rows = quantize(cx, x, up);
#ifdef CORRECTED
  (void)down;
  return linear(cx, rows, up);
#else
  return linear(cx, rows, down);
#endif
}

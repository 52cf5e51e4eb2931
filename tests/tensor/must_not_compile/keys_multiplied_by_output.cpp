// expect: deduced conflicting types for parameter .Contracted.
// Heads are merged before the output projection, and only query heads fit it.
#include "ops/linear.h"

using namespace maglio;

auto mistake(Context& cx,
             Tensor<float, Seq, Head, Dim> gathered,
             Tensor<float, Seq, KvHead, Dim> values,
             const Weight<Embed, Query>& output) {
#ifdef CORRECTED
  (void)values;
  return linear(cx, merge(gathered), output);
#else
  (void)gathered;
  return linear(cx, merge(values), output);
#endif
}

// expect: deduced conflicting types for parameter .Contracted.
// The output projection reads what the query heads gathered, not the values.
#include "ops/linear.h"

using namespace maglio;

auto mistake(Context& cx,
             Tensor<float, Seq, Query> gathered,
             Tensor<float, Seq, KeyValue> v,
             const Weight<Embed, Query>& output) {
#ifdef CORRECTED
  (void)v;
  return linear(cx, gathered, output);
#else
  (void)gathered;
  return linear(cx, v, output);
#endif
}

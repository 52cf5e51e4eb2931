// expect: no known conversion for argument 2 from .Tensor<.*KvHead, maglio::Dim>. to
// .Tensor<.*maglio::Head, maglio::Dim>. What asks is a query; keys have another kind of head.
#include "ops/attention.h"

using namespace maglio;

void mistake(Context& cx,
             Tensor<const float, Seq, Head, Dim> q,
             Tensor<const float, Seq, KvHead, Dim> k,
             const KvPages& past) {
#ifdef CORRECTED
  (void)k;
  attend(cx, q, past, 7);
#else
  (void)q;
  attend(cx, k, past, 7);
#endif
}

// expect: KvHead.*to.*Head
// Keys have key and value heads, even where there are as many of them as of the queries'.
#include "ops/attention.h"

using namespace maglio;

#ifdef CORRECTED
void mistake(Context& cx, Tensor<const float, Seq, Head, Dim> q, const KvPages& pages) {
#else
void mistake(Context& cx, Tensor<const float, Seq, KvHead, Dim> q, const KvPages& pages) {
#endif
  attend(cx, q, pages, q.extent<Seq>());
}

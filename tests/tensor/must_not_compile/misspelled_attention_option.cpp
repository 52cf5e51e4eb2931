// expect: .maglio::AttentionOptions. has no non-static data member named .windows.
// An option that does not exist is never silently full attention.
#include "ops/attention.h"

using namespace maglio;

void mistake(Context& cx, Tensor<const float, Seq, Head, Dim> q, const KvPages& past) {
#ifdef CORRECTED
  attend(cx, q, past, 7, AttentionOptions{.window = 4});
#else
  attend(cx, q, past, 7, AttentionOptions{.windows = 4});
#endif
}

// expect: deduced conflicting types for parameter .A.
// A head's norm has head_dim weights; the residual stream's has d_model.
#include "ops/norm.h"

using namespace maglio;

auto mistake(Context& cx, Tensor<float, Seq, Embed> x, Norm<Dim> q_norm, Norm<Embed> norm) {
#ifdef CORRECTED
  (void)q_norm;
  return rms_norm(cx, x, norm);
#else
  (void)norm;
  return rms_norm(cx, x, q_norm);
#endif
}

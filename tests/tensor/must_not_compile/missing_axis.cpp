// expect: with A = maglio::Vocab. Axes = .maglio::Seq, maglio::Embed... evaluated to .false.
// The residual stream has no vocabulary axis.
#include "tensor/tensor.h"

using namespace maglio;

size_t mistake(Tensor<float, Seq, Embed> x) {
#ifdef CORRECTED
  return x.extent<Embed>();
#else
  return x.extent<Vocab>();
#endif
}

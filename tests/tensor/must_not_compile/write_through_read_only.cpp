// expect: assignment of read-only location
// A read-only tensor hands out no writable element.
#include "tensor/tensor.h"

using namespace maglio;

#ifdef CORRECTED
void mistake(Tensor<float, Seq, Embed> x) {
#else
void mistake(Tensor<const float, Seq, Embed> x) {
#endif
  x(0, 0) = 1.0f;
}

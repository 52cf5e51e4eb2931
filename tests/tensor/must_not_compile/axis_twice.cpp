// expect: an axis appears once
// Two token axes could not be told apart.
#include "tensor/tensor.h"

using namespace maglio;

#ifdef CORRECTED
size_t mistake(Tensor<float, Seq, Past> x) {
#else
size_t mistake(Tensor<float, Seq, Seq> x) {
#endif
  return x.extent<Seq>();
}

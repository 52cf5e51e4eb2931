// Attention over one page of keys and values.
#pragma once

#include "kernels/kernels.h"

namespace maglio {
namespace {

constexpr AttentionKernels attention_f16_kernels() {
  return {};
}
constexpr AttentionKernels attention_q8_0_kernels() {
  return {};
}
constexpr CombineKernels combine_kernels() {
  return {};
}

}  // namespace
}  // namespace maglio

// Sums of byte products that are two int16 a lane, bytes 0, 1 and bytes 2, 3: what the sets share
// whose instruction adds two products at once. It saturates, so sums are folded in time. Included
// by a vocabulary at its end; wide_sums.h says what the operations mean.
#pragma once

namespace maglio {
namespace {

constexpr bool kWideSums = false;

constexpr size_t fold_every(int max_u) {
  const int steps = 32767 / (2 * 127 * max_u);
  return steps >= 8 ? 8 : steps >= 4 ? 4 : steps >= 2 ? 2 : 1;
}
inline I32x16 mul_scales(I32x16 scale, const int32_t* m) {
  return mul_s16(scale, broadcast_load_i32(m));
}
inline I32x16 fold_halves(I32x16 acc, ByteSum first, ByteSum second, const int32_t* m) {
  return fold(fold(acc, first, broadcast_load_i32(m)), second, broadcast_load_i32(m + 1));
}

}  // namespace
}  // namespace maglio

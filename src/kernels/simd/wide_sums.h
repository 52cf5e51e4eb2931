// Sums of byte products that are int32 a lane: what the sets share whose instruction adds four
// products at once, and the scalar vocabulary, which says what all of it means. Included by a
// vocabulary at its end.
#pragma once

namespace maglio {
namespace {

constexpr bool kWideSums = true;

// A running sum of byte products inside one sub-block; nothing saturates.
using ByteSum = I32x16;
inline ByteSum zero_byte_sum() {
  return zero_i32();
}
// The start of a sum.
inline ByteSum first_dot_u8s8(I32x16 u, const void* q) {
  ByteSum sum = zero_byte_sum();
  add_dot_u8s8(sum, u, q);
  return sum;
}
// How many products may follow one another before a fold, for unsigned bytes up to max_u and signed
// bytes in [-127, 127]: all of a sub-block.
constexpr size_t fold_every(int) {
  return 8;
}
// Sixteen small scales, one an output, in the form in which fold takes them.
inline I32x16 load_scales_s8(const void* p) {
  return load_s8(static_cast<const int8_t*>(p));
}

}  // namespace
}  // namespace maglio

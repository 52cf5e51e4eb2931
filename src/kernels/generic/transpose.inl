// Rows into columns in registers: vectors of 16 bytes on every instruction set, the compiler's own
// vector types.
#pragma once

#include <cstddef>
#include <cstdint>

namespace maglio {
namespace {

using U8x16 = uint8_t __attribute__((vector_size(16)));
using U16x8 = uint16_t __attribute__((vector_size(16)));
using U32x4 = uint32_t __attribute__((vector_size(16)));

template <class V>
V load_vector(const void* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class V>
void store_vector(void* p, V v) {
  __builtin_memcpy(p, &v, sizeof v);
}

// The first, or the last, elements of a and b in turn: a0 b0 a1 b1 ...
inline U8x16 zip_first(U8x16 a, U8x16 b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
inline U8x16 zip_last(U8x16 a, U8x16 b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                 31);
}
inline U16x8 zip_first(U16x8 a, U16x8 b) {
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}
inline U16x8 zip_last(U16x8 a, U16x8 b) {
  return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}
inline U32x4 zip_first(U32x4 a, U32x4 b) {
  return __builtin_shufflevector(a, b, 0, 4, 1, 5);
}
inline U32x4 zip_last(U32x4 a, U32x4 b) {
  return __builtin_shufflevector(a, b, 2, 6, 3, 7);
}

// [kRows][m] becomes [m][kRows], the elements of all vectors taken as one sequence. A perfect
// shuffle (the halves of the sequence, element by element in turn) moves the top bit of an index to
// its bottom; log2(kRows) of them exchange row and column.
template <size_t kRows, class V, size_t kVectors>
void transpose(V (&v)[kVectors]) {
  for (size_t rows = kRows; rows > 1; rows /= 2) {
    V shuffled[kVectors];
    for (size_t i = 0; i < kVectors / 2; ++i) {
      shuffled[2 * i] = zip_first(v[i], v[i + kVectors / 2]);
      shuffled[2 * i + 1] = zip_last(v[i], v[i + kVectors / 2]);
    }
    for (size_t i = 0; i < kVectors; ++i) v[i] = shuffled[i];
  }
}

// out[r] = op over the 16 dwords of row r of rows [kRows][16].
template <size_t kRows, class Op>
inline void reduce_rows(const void* rows, void* out, Op op) {
  const auto at = [&](size_t row, size_t quarter) {
    return load_vector<U32x4>(static_cast<const std::byte*>(rows) + 64 * row + 16 * quarter);
  };
  for (size_t r = 0; r < kRows; r += 4) {
    U32x4 v[4];
    for (size_t i = 0; i < 4; ++i) {
      v[i] = op(op(at(r + i, 0), at(r + i, 1)), op(at(r + i, 2), at(r + i, 3)));
    }
    transpose<4>(v);
    store_vector(static_cast<std::byte*>(out) + 4 * r, op(op(v[0], v[1]), op(v[2], v[3])));
  }
}

}  // namespace
}  // namespace maglio

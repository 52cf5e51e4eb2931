// Products of Q4_0 weights with int8 activations of class a8. For each block of 32, in ascending
// order, with the halves h of 16 values:
//   I = sum_h m_h * sum u * q  -  8 * sum_h m_h * sum q        (exact int32, |I| < 2^24)
//   acc = fma((f32)I, dw * da, acc)
#pragma once

#include "kernels/generic/matmul_a16.inl"

namespace maglio {
namespace {

struct ExpandedA8 {
  std::byte units[kChunkBlocks][8 * kUnit];
  float scale[kChunkBlocks][kPanelRows];
};

struct Q4_0Format {
  using Chunk = A8Chunk;
  using Panel = Q4_0Panel;
  using Expanded = ExpandedA8;
  static constexpr size_t kFusedRows = 2;

  // half: the two halves' sums of u * q of one row
  static void add_block(const ByteSum* half, F32x16 scale, const Chunk& a, size_t b, float* acc) {
    I32x16 sum = broadcast_i32(-8 * a.sum[b]);
    sum = fold(sum, half[0], broadcast_load_i32(&a.m[2 * b]));
    sum = fold(sum, half[1], broadcast_load_i32(&a.m[2 * b + 1]));
    store(acc, fma(to_f32(sum), mul(scale, broadcast(a.d[b])), load(acc)));
  }

  // Group g of the first half lies in the low nibbles, of the second half in the high ones.
  template <class Use>
  static void each_unit(const std::byte* units, Use use) {
    const I32x16 nibble = broadcast_i32(0x0f0f0f0f);
#pragma GCC unroll 4
    for (size_t g = 0; g < 4; ++g) {
      prefetch(units + g * kUnit + kAhead);
      const I32x16 unit = load_i32(units + g * kUnit);
      use(bit_and(unit, nibble), bit_and(shift_right<4>(unit), nibble), g);
    }
  }

  template <size_t kRows>
  [[gnu::noinline]] static void multiply(const std::byte* chunk,
                                         const Chunk* a,
                                         size_t n_values,
                                         float* acc) {
    const size_t n = n_values / 32;
    for (size_t b = 0; b < n; ++b) {
      prefetch(chunk + Panel::scale_at(b) + kAhead);
      ByteSum half[kRows][2];
#pragma GCC unroll 16
      for (size_t r = 0; r < kRows; ++r) half[r][0] = half[r][1] = zero_byte_sum();
      each_unit(chunk + Panel::block_at(b), [&](I32x16 first, I32x16 second, size_t g) {
#pragma GCC unroll 16
        for (size_t r = 0; r < kRows; ++r) {
          const int8_t* q = a[r].q + 32 * b + 4 * g;
          add_dot_u8s8(half[r][0], first, q);
          add_dot_u8s8(half[r][1], second, q + 16);
        }
      });
      const F32x16 scale = load_half_row(chunk + Panel::scale_at(b));
#pragma GCC unroll 16
      for (size_t r = 0; r < kRows; ++r) add_block(half[r], scale, a[r], b, acc + r * kPanelRows);
    }
  }

  [[gnu::noinline]] static void expand(const std::byte* chunk, size_t n_values, Expanded& out) {
    const size_t n = n_values / 32;
    for (size_t b = 0; b < n; ++b) {
      each_unit(chunk + Panel::block_at(b), [&](I32x16 first, I32x16 second, size_t g) {
        store_i32(out.units[b] + g * kUnit, first);
        store_i32(out.units[b] + (g + 4) * kUnit, second);
      });
      store(out.scale[b], load_half_row(chunk + Panel::scale_at(b)));
    }
  }

  template <size_t kRows>
  [[gnu::noinline]] static void multiply(
      const Expanded& w, const Chunk* a, size_t n_values, float* acc, Ahead next) {
    for (size_t b = 0; b < n_values / 32; ++b) {
      next.fetch(b, kChunkBlocks);
      I32x16 sum[kRows];
#pragma GCC unroll 16
      for (size_t r = 0; r < kRows; ++r) sum[r] = broadcast_i32(-8 * a[r].sum[b]);
      for (size_t h = 0; h < 2; ++h) {
        ByteSum half[kRows];
        const I32x16 first_unit = load_i32(w.units[b] + 4 * h * kUnit);
#pragma GCC unroll 16
        for (size_t r = 0; r < kRows; ++r) {
          half[r] = first_dot_u8s8(first_unit, a[r].q + 32 * b + 16 * h);
        }
#pragma GCC unroll 4
        for (size_t g = 4 * h + 1; g < 4 * h + 4; ++g) {
          const I32x16 unit = load_i32(w.units[b] + g * kUnit);
#pragma GCC unroll 16
          for (size_t r = 0; r < kRows; ++r) {
            add_dot_u8s8(half[r], unit, a[r].q + 32 * b + 4 * g);
          }
        }
#pragma GCC unroll 16
        for (size_t r = 0; r < kRows; ++r) {
          sum[r] = fold(sum[r], half[r], broadcast_load_i32(&a[r].m[2 * b + h]));
        }
      }
      const F32x16 scale = load(w.scale[b]);
#pragma GCC unroll 16
      for (size_t r = 0; r < kRows; ++r) {
        float* t = acc + r * kPanelRows;
        store(t, fma(to_f32(sum[r]), mul(scale, broadcast(a[r].d[b])), load(t)));
      }
    }
  }
};

}  // namespace
}  // namespace maglio

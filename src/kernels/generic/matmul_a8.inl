// Products of weights with zero at 8 (Q4_0) with int8 activations of class a8. For each block of
// 32, in ascending order, with the halves h of 16 values:
//   I = sum_h m_h * sum u * q  -  8 * sum_h m_h * sum q        (exact int32, |I| < 2^24)
//   acc = fma((f32)I, dw * da, acc)
#pragma once

#include "kernels/generic/panel.inl"

namespace maglio {
namespace {

struct ExpandedA8 {
  std::byte units[kChunkBlocks][2][4][kUnit];
  float scales[kChunkBlocks][kPanelRows];
  Ahead next;

  I32x16 unit(size_t b, size_t h, size_t g) const { return load_i32(units[b][h][g]); }
  F32x16 scale(size_t b) const { return load(scales[b]); }
  void begin_block(size_t b) const { next.fetch(b, kChunkBlocks); }
};

// PackedWeights: a chunk of a panel, read as it lies, with the members of ExpandedA8.
template <class PackedWeights>
struct A8Format {
  using Chunk = A8Chunk;
  using Panel = typename PackedWeights::Panel;
  using Packed = PackedWeights;
  using Expanded = ExpandedA8;
  static constexpr size_t kPackedRows = kFreeUnpacking ? kAnyRows : 2;
  static constexpr size_t kTile = kWideSums && kTileRows > 8 ? 8 : kTileRows;  // three sums a row

  // half[r]: the sum of u * q over half h of block b
  template <size_t kRows, class Weights>
  [[gnu::always_inline]] static void sum_half(
      const Weights& w, const Chunk* a, size_t b, size_t h, ByteSum* half) {
#pragma GCC unroll 4
    for (size_t g = 0; g < 4; ++g) {
      const I32x16 unit = w.unit(b, h, g);
#pragma GCC unroll 16
      for (size_t r = 0; r < kRows; ++r) {
        const int8_t* q = a[r].q + 32 * b + 16 * h + 4 * g;
        if (g == 0) {
          half[r] = first_dot_u8s8(unit, q);
        } else {
          add_dot_u8s8(half[r], unit, q);
        }
      }
    }
  }

  // acc: [kRows][16]; a: kRows records; w: Packed or ExpandedA8
  template <size_t kRows, class Weights>
  [[gnu::noinline]] static void multiply(const Weights& w,
                                         const Chunk* a,
                                         size_t n_values,
                                         float* acc) {
    for (size_t b = 0; b < n_values / 32; ++b) {
      w.begin_block(b);
      I32x16 sum[kRows];
#pragma GCC unroll 16
      for (size_t r = 0; r < kRows; ++r) sum[r] = broadcast_i32(-8 * a[r].sum[b]);
      if constexpr (kWideSums) {
        ByteSum half[2][kRows];
        sum_half<kRows>(w, a, b, 0, half[0]);
        sum_half<kRows>(w, a, b, 1, half[1]);
#pragma GCC unroll 16
        for (size_t r = 0; r < kRows; ++r) {
          sum[r] = fold_halves(sum[r], half[0][r], half[1][r], &a[r].m[2 * b]);
        }
      } else {  // as many registers as one half needs
        for (size_t h = 0; h < 2; ++h) {
          ByteSum half[kRows];
          sum_half<kRows>(w, a, b, h, half);
#pragma GCC unroll 16
          for (size_t r = 0; r < kRows; ++r) {
            sum[r] = fold(sum[r], half[r], broadcast_load_i32(&a[r].m[2 * b + h]));
          }
        }
      }
      const F32x16 scale = w.scale(b);
#pragma GCC unroll 16
      for (size_t r = 0; r < kRows; ++r) {
        float* t = acc + r * kPanelRows;
        store(t, fma(to_f32(sum[r]), mul(scale, broadcast(a[r].d[b])), load(t)));
      }
    }
  }

  [[gnu::noinline]] static void expand(const Packed& w, size_t n_values, Expanded& out) {
    for (size_t b = 0; b < n_values / 32; ++b) {
#pragma GCC unroll 4
      for (size_t g = 0; g < 4; ++g) {
        store_i32(out.units[b][0][g], w.unit(b, 0, g));
        store_i32(out.units[b][1][g], w.unit(b, 1, g));
      }
      store(out.scales[b], w.scale(b));
    }
  }
};

}  // namespace
}  // namespace maglio

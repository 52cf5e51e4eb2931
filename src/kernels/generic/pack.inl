// From rows as the file stores them to panels.
//
// Packing a quantized format is almost nothing but moving dwords: four bytes of a row, whatever bit
// fields they hold, become one lane of a unit. The files store a block's low bits in just the
// dwords that panel.inl wants, and the high bits of Q6_K too; only fifth bits and six-bit scales
// are taken apart. Dwords move by transposing 4 x 4 of them in registers, vectors of 16 bytes on
// every instruction set (the compiler's own vector types): that is as fast as memory takes the
// result.
#pragma once

#include "kernels/generic/panel.inl"
#include "kernels/generic/transpose.inl"

namespace maglio {
namespace {

// The same place in each of the 16 rows of a panel; rows that are missing read as zeros.
struct PanelRows {
  const std::byte* first;
  size_t row_bytes;
  size_t n;
  // What is fetched meanwhile: the same part of the next panel, taken as one run of bytes. 16 rows
  // read side by side are more streams than the hardware follows by itself: Q8_0 packs at 5.6 GB/s
  // without it and at 9 with it, Q4_0 at 5 and 14 (Zen 4, one core; memcpy 10 to 15).
  const std::byte* next;

  static constexpr size_t kZeroBytes = 256;  // more than any block, or vector
  alignas(kUnit) static constexpr std::byte kZeros[kZeroBytes] = {};

  const std::byte* operator[](size_t lane) const {
    return lane < n ? first + lane * row_bytes : kZeros;
  }
};

// Lane r of units [0, kDwords) = the dwords at `offset` of row r. Units lie in pairs, the pairs
// kPairBytes apart.
template <size_t kDwords, size_t kPairBytes = 2 * kUnit>
void interleave(const PanelRows& rows, size_t offset, std::byte* units) {
  static_assert(kDwords % 4 == 0);
  for (size_t lane = 0; lane < kPanelRows; lane += 4) {
    for (size_t i = 0; i < kDwords; i += 4) {
      U32x4 v[4];
      prefetch(rows.next + kPanelRows * offset + lane * 4 * kDwords + 16 * i);
      for (size_t r = 0; r < 4; ++r) {
        v[r] = load_vector<U32x4>(rows[lane + r] + offset + 4 * i);
      }
      transpose<4>(v);
      for (size_t r = 0; r < 4; ++r) {
        const size_t unit_at = (i + r) / 2 * kPairBytes + (i + r) % 2 * kUnit;
        store_vector(units + unit_at + lane * 4, v[r]);
      }
    }
  }
}

// to [16] = the half (f16) at `offset` of each row.
inline void gather_halves(const PanelRows& rows, size_t offset, std::byte* to) {
  for (size_t lane = 0; lane < kPanelRows; ++lane) {
    __builtin_memcpy(to + 2 * lane, rows[lane] + offset, 2);
  }
}

// The dword at `offset` of four rows.
inline U32x4 gather_dwords(const PanelRows& rows, size_t lane, size_t offset) {
  U32x4 v;
  for (size_t r = 0; r < 4; ++r) {
    uint32_t dword = 0;
    __builtin_memcpy(&dword, rows[lane + r] + offset, sizeof dword);
    v[r] = dword;
  }
  return v;
}

// Before the units of several blocks lies one line of their scales; a part of it may stay empty.
template <class Panel>
void clear_new_scales(size_t b, std::byte* chunk) {
  if (Panel::kRun > 1 && b % Panel::kRun == 0) {
    __builtin_memset(chunk + Panel::scale_at(b), 0, kUnit);
  }
}

template <class Panel, class Block>
void pack_nibbles(const PanelRows& blocks, size_t b, std::byte* chunk) {
  clear_new_scales<Panel>(b, chunk);
  gather_halves(blocks, offsetof(Block, d), chunk + Panel::scale_at(b));
  interleave<4>(blocks, offsetof(Block, u), chunk + Panel::block_at(b));
}

}  // namespace
}  // namespace maglio

// Where things lie in a panel: 16 weight rows, interleaved chunk by chunk of 256 values.
//
// The unit of quantized weights is 64 bytes, [16 rows][4 bytes]: dword lane r holds four
// consecutive values of row r ("group g": values 4g .. 4g + 3). One unit feeds the byte products
// of every instruction set directly. Inside a chunk, fields lie in the order the kernels read them:
// one linear stream is what prefetchers follow. Every chunk starts on a multiple of 64 bytes; only
// the last one may be shorter.
#pragma once

#include "kernels/generic/activation.inl"
#include "quant/blocks.h"

namespace maglio {
namespace {

constexpr size_t kUnit = 64;
constexpr size_t kHalves = kPanelRows * 2;  // bytes of one f16 (or bf16) for each row

// Formats of 32-value blocks; n blocks in a chunk:
//   d f16 [n][16]; with an offset also m f16 [n][16]; padding to 64; units [n][kBlockBytes]
template <bool kWithOffset, size_t kBlockBytes>
struct SmallPanel {
  static constexpr size_t units_at(size_t n) {
    return round_up_64(n * kHalves * (kWithOffset ? 2 : 1));
  }
  static constexpr size_t chunk_bytes(size_t n_values) {
    const size_t n = n_values / 32;
    return units_at(n) + n * kBlockBytes;
  }
  static constexpr size_t scale_at(size_t b) { return b * kHalves; }
  static constexpr size_t offset_at(size_t n, size_t b) { return (n + b) * kHalves; }
  static constexpr size_t block_at(size_t n, size_t b) { return units_at(n) + b * kBlockBytes; }
};
// Units of a block: 8 groups of int8.
using Q8_0Panel = SmallPanel<false, 8 * kUnit>;
// Units of a block: 4, low nibble group g, high nibble group g + 4.
using Q4_0Panel = SmallPanel<false, 4 * kUnit>;
using Q4_1Panel = SmallPanel<true, 4 * kUnit>;
// One unit of fifth bits, then 4 units as Q4: bit g of byte j of lane r belongs to value 4g + j.
using Q5_0Panel = SmallPanel<false, 5 * kUnit>;
using Q5_1Panel = SmallPanel<true, 5 * kUnit>;

// Q4_K and Q5_K: d f16 [16]; dmin f16 [16]; sc u8 [8][16]; mn u8 [8][16]; then for each pair of
// sub-blocks j = 0..3: for Q5_K two units of fifth bits (sub-block 2j, 2j + 1; as Q5_0), and 8
// units, low nibble group g of sub-block 2j, high nibble group g of 2j + 1.
template <bool kFiveBits>
struct AffinePanel {
  static constexpr size_t kMinAt = kHalves;
  static constexpr size_t kScalesAt = 2 * kHalves;
  static constexpr size_t kMinimaAt = kScalesAt + kChunkBlocks * kPanelRows;
  static constexpr size_t kPairsAt = kMinimaAt + kChunkBlocks * kPanelRows;
  static constexpr size_t kPairBytes = (kFiveBits ? 10 : 8) * kUnit;
  static constexpr size_t kNibblesAt = (kFiveBits ? 2 : 0) * kUnit;  // inside a pair
  static constexpr size_t kBytes = kPairsAt + 4 * kPairBytes;
  static constexpr size_t chunk_bytes(size_t) { return kBytes; }
};
static_assert(AffinePanel<false>::kBytes == 2368 && AffinePanel<true>::kBytes == 2880);

// Q6_K: d f16 [16]; 32 bytes unused; sc s8 [16][16]; then for each half of 128 values and gp = 0..3
// six units: A[2], B[2], H[2]. Unit pair [2] holds groups 2gp and 2gp + 1 of each quarter t of the
// half (32 values): low four bits in A (t even) or B (t odd), low nibble for t < 2; the high two
// bits in bits 2t of H.
struct Q6_KPanel {
  static constexpr size_t kScalesAt = 64;
  static constexpr size_t kUnitsAt = kScalesAt + 16 * kPanelRows;
  static constexpr size_t kStepBytes = 6 * kUnit;
  static constexpr size_t kBytes = kUnitsAt + 8 * kStepBytes;
  static constexpr size_t chunk_bytes(size_t) { return kBytes; }
};
static_assert(Q6_KPanel::kBytes == 3392);

// F32, F16, BF16: [k][16].
template <size_t kElementBytes>
struct PlainPanel {
  static constexpr size_t chunk_bytes(size_t n_values) {
    return round_up_64(n_values * kPanelRows * kElementBytes);
  }
};

template <class Panel>
size_t panel_bytes(size_t k) {
  const size_t whole = k / kChunk;
  const size_t rest = k % kChunk;
  return whole * Panel::chunk_bytes(kChunk) + (rest > 0 ? Panel::chunk_bytes(rest) : 0);
}

}  // namespace
}  // namespace maglio

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

// Formats of 32-value blocks: one line of scales, then the units of the blocks it serves:
//   without an offset: d f16 [2][16], units of two blocks (the last run may hold one)
//   with an offset:    d f16 [16], m f16 [16], units of one block
// All scales of a chunk in front of its units looked simpler, but Q4_1 then decoded at 10 GB/s
// instead of 22: reading in two places at once loses the hardware prefetcher (Zen 4).
template <bool kWithOffset, size_t kBlockBytes>
struct SmallPanel {
  static constexpr size_t kRun = kWithOffset ? 1 : 2;  // blocks behind one line of scales
  static constexpr size_t kRunBytes = kUnit + kRun * kBlockBytes;
  static constexpr size_t chunk_bytes(size_t n_values) {
    const size_t n_blocks = n_values / 32;
    return (n_blocks + kRun - 1) / kRun * kUnit + n_blocks * kBlockBytes;
  }
  static constexpr size_t scale_at(size_t b) { return b / kRun * kRunBytes + b % kRun * kHalves; }
  static constexpr size_t offset_at(size_t b) { return scale_at(b) + kHalves; }
  static constexpr size_t block_at(size_t b) {
    return b / kRun * kRunBytes + kUnit + b % kRun * kBlockBytes;
  }
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

// Q6_K: d f16 [16]; 32 bytes unused; sc s8 [16][16]; then for each step of 64 values, which are
// four sub-blocks i of four groups g: H[4], units of high bits, two bits of sub-block i at bit 2i;
// and N[2][4], units of low nibbles, of sub-blocks 0 (low) and 1 (high), then of 2 and 3. The
// file's order lets quarters of 128 values share bytes: read so, lines are met out of order, and
// one row ran at 13 GB/s instead of 20 (Zen 4).
struct Q6_KPanel {
  static constexpr size_t kScalesAt = 64;
  static constexpr size_t kUnitsAt = kScalesAt + 16 * kPanelRows;
  static constexpr size_t kStepBytes = 12 * kUnit;
  static constexpr size_t kBytes = kUnitsAt + 4 * kStepBytes;
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

// A format reads packed weights directly for up to kPackedRows rows, and expands them for more.
constexpr size_t kAnyRows = SIZE_MAX;

// Bytes ahead of the reads that a product fetches. Zen 4, one core, one row of Q8_0: 22.8 GB/s at
// 2 KB, 25.6 at 4, 27.3 at 8 (Q4_K 22.3, 24.4, 27.2; a Zen 3 was best around 2 KB, 5 % worse at 4).
constexpr size_t kAhead = 8192;

// Lines of packed weights that the next expansion will read. A tile of rows fetches its share while
// it computes: an expansion alone waits for memory as long as six rows take to compute.
struct Ahead {
  const std::byte* at;
  size_t lines;

  // The share of one step of n.
  void fetch(size_t step, size_t n) const {
    for (size_t i = step * lines / n; i < (step + 1) * lines / n; ++i) prefetch(at + i * 64);
  }
};

}  // namespace
}  // namespace maglio

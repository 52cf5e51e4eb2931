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

// Formats of 32-value blocks: one line of scales, then the units of the blocks it serves (the last
// run may hold fewer). BF16's are formats/bf16.inl; of the others:
//   without an offset: d f16 [2][16], units of two blocks
//   with an offset:    d f16 [16], m f16 [16], units of one block
// All scales of a chunk in front of its units looked simpler, but Q4_1 then decoded at 10 GB/s
// instead of 22: reading in two places at once loses the hardware prefetcher (Zen 4).
template <size_t kBlocksOfLine, size_t kBlockBytes>
struct RunPanel {
  static constexpr size_t kRun = kBlocksOfLine;  // blocks behind one line of scales
  static constexpr size_t kRunBytes = kUnit + kRun * kBlockBytes;
  static constexpr size_t chunk_bytes(size_t n_values) {
    const size_t n_blocks = blocks_of(n_values);
    return (n_blocks + kRun - 1) / kRun * kUnit + n_blocks * kBlockBytes;
  }
  static constexpr size_t scale_at(size_t b) {
    return b / kRun * kRunBytes + b % kRun * (kUnit / kRun);
  }
  static constexpr size_t offset_at(size_t b) { return scale_at(b) + kHalves; }
  static constexpr size_t block_at(size_t b) {
    return b / kRun * kRunBytes + kUnit + b % kRun * kBlockBytes;
  }
};
template <bool kWithOffset, size_t kBlockBytes>
using SmallPanel = RunPanel<kWithOffset ? 1 : 2, kBlockBytes>;

// A row of 16 scales.
inline F32x16 load_half_row(const std::byte* p) {
  return load_half(reinterpret_cast<const uint16_t*>(p));
}

template <class Panel>
size_t panel_bytes(size_t k) {
  const size_t whole = k / kChunk;
  const size_t rest = k % kChunk;
  return whole * Panel::chunk_bytes(kChunk) + (rest > 0 ? Panel::chunk_bytes(rest) : 0);
}

// A format reads packed weights directly for up to kPackedRows rows, and expands them for more.
constexpr size_t kAnyRows = SIZE_MAX;

// A line of packed weights or of a KV page has been read: the one kAhead bytes further is next.
//
// Where the hardware's prefetching does better alone (kAhead 0) it falls behind when a tile of
// kFetchFrom rows or more makes each line last, in formats of one and two bytes a weight: 8 rows on
// two cores, F16 62 GMAC/s without fetching, 92 with it, Q8_0 127 and 168; but Q4_K 230 and 196
// (Zen 4).
inline void fetch_ahead(const void* p, bool many_rows = false) {
  if constexpr (kAhead > 0) {
    prefetch(static_cast<const std::byte*>(p) + kAhead);
  } else if (many_rows) {
    prefetch(static_cast<const std::byte*>(p) + 8192);
  }
}

// Lines of packed weights that will be read next. A tile of rows fetches its share while it
// computes: an expansion alone waits for memory as long as six rows take to compute.
struct Ahead {
  const std::byte* at;
  size_t lines;

  void fetch() const { fetch(0, 1); }
  // The share of one step of n.
  void fetch(size_t step, size_t n) const {
    for (size_t i = step * lines / n; i < (step + 1) * lines / n; ++i) prefetch(at + i * 64);
  }
};

}  // namespace
}  // namespace maglio

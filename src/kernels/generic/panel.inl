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

// Lines of packed weights that will be read later, fetched while something before them computes:
// into the first-level cache, or, where they would crowd it, into the second.
struct Ahead {
  const std::byte* at = nullptr;
  size_t lines = 0;
  bool is_far = false;  // for the second level

  // The share of one step of n, in the order of reading: a line left out, or met out of order,
  // costs more than the others gain (Q4_K's scales did; Zen 4).
  void fetch(size_t step, size_t n) const {
    for (size_t i = step * lines / n; i < (step + 1) * lines / n; ++i) {
      if (is_far) {
        prefetch_to_l2(at + i * 64);
      } else {
        prefetch(at + i * 64);
      }
    }
  }
};

// What a tile of rows fetches while it goes through a chunk once: as many lines, further on.
//
// Where the hardware's prefetching does better alone (kAhead 0), it falls behind when three rows or
// more make each line last, and only then is it helped. 8 rows, one core from memory, GB/s without
// and with: Q4_K 5.9 9.0, Q6_K 6.2 11.7, Q4_0 4.9 7.6 (Zen 4).
template <class Panel, size_t kRows>
Ahead further_on(const std::byte* chunk, size_t n_values) {
  constexpr size_t kFar = 8192;
  const size_t lines = Panel::chunk_bytes(n_values) / 64;
  if constexpr (kAhead > 0) return {chunk + kAhead, lines};
  if constexpr (kRows >= 3) return {chunk + kFar, lines, true};
  return {};
}

}  // namespace
}  // namespace maglio

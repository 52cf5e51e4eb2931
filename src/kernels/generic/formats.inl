// The rows of the table: one for each weight format, one for each class of activations.
#pragma once

#include "kernels/generic/formats/bf16.inl"
#include "kernels/generic/formats/plain.inl"
#include "kernels/generic/formats/q4_0.inl"
#include "kernels/generic/formats/q4_1.inl"
#include "kernels/generic/formats/q4_k.inl"
#include "kernels/generic/formats/q5.inl"
#include "kernels/generic/formats/q6_k.inl"
#include "kernels/generic/formats/q8_0.inl"
#include "kernels/generic/matmul.inl"

namespace maglio {
namespace {

// A format's pack_block(Block, blocks, b, chunk) puts blocks b of 16 rows into a chunk.
template <class Block, class Panel, size_t kValues>
void pack_panel(const std::byte* rows, size_t row_bytes, size_t n, size_t k, std::byte* panel) {
  static_assert(sizeof(Block) <= PanelRows::kZeroBytes);
  const std::byte* const next = rows + kPanelRows * row_bytes;
  for (size_t c = 0; c < chunks_of(k); ++c) {
    const size_t n_blocks = values_in_chunk(k, c) / kValues;
    std::byte* chunk = panel + c * Panel::chunk_bytes(kChunk);
    for (size_t b = 0; b < n_blocks; ++b) {
      const size_t block = c * (kChunk / kValues) + b;
      const PanelRows blocks{.first = rows + block * sizeof(Block),
                             .row_bytes = row_bytes,
                             .n = n,
                             .next = next + block * kPanelRows * sizeof(Block)};
      pack_block(Block{}, blocks, b, chunk);
    }
  }
}

// A format's unpack_chunk(Block, chunk, n, lane, out) gives the values of n blocks of one lane.
template <class Block, class Panel, size_t kValues>
void unpack_row(const std::byte* panel, size_t lane, size_t k, float* out) {
  for (size_t c = 0; c < chunks_of(k); ++c) {
    unpack_chunk(Block{}, panel + c * Panel::chunk_bytes(kChunk), values_in_chunk(k, c) / kValues,
                 lane, out + c * kChunk);
  }
}

template <class Block, class Format, size_t kValues>
constexpr FormatKernels block_format(DType dtype, ActivationClass activation) {
  using Panel = typename Format::Panel;
  return {
      .dtype = dtype,
      .activation = activation,
      .panel_bytes = panel_bytes<Panel>,
      .pack_panel = pack_panel<Block, Panel, kValues>,
      .unpack_row = unpack_row<Block, Panel, kValues>,
      .matmul_scratch_bytes = matmul_scratch_bytes<Format>,
      .matmul = matmul<Format>,
  };
}

template <class Element, class Vector>
constexpr FormatKernels plain_format(DType dtype) {
  using Format = PlainFormat<Element>;
  return {
      .dtype = dtype,
      .activation = ActivationClass::f32,
      .panel_bytes = panel_bytes<typename Format::Panel>,
      .pack_panel = pack_plain_panel<Element, Vector>,
      .unpack_row = unpack_plain_row<Element>,
      .matmul_scratch_bytes = matmul_scratch_bytes<Format>,
      .matmul = matmul<Format>,
  };
}

constexpr void fill_formats(Kernels& table) {
  using enum ActivationClass;
  const FormatKernels rows[kWeightFormats] = {
      plain_format<float, U32x4>(DType::F32),
      plain_format<Half, U16x8>(DType::F16),
      {.dtype = DType::BF16,
       .activation = a16,
       .panel_bytes = panel_bytes<BFloat16Panel>,
       .pack_panel = pack_bfloat16_panel,
       .unpack_row = nullptr,
       .matmul_scratch_bytes = matmul_scratch_bytes<BFloat16Format>,
       .matmul = matmul<BFloat16Format>},
      block_format<BlockQ8_0, A16Format<Q8_0Block>, 32>(DType::Q8_0, a16),
      block_format<BlockQ4_0, A8Format<PackedQ4_0>, 32>(DType::Q4_0, a8),
      block_format<BlockQ4_1, A16Format<Q4_1Block>, 32>(DType::Q4_1, a16),
      block_format<BlockQ5_0, A16Format<Q5_0Block>, 32>(DType::Q5_0, a16),
      block_format<BlockQ5_1, A16Format<Q5_1Block>, 32>(DType::Q5_1, a16),
      block_format<BlockQ4_K, AffineFormat<false>, 256>(DType::Q4_K, a8k),
      block_format<BlockQ5_K, AffineFormat<true>, 256>(DType::Q5_K, a8k),
      block_format<BlockQ6_K, Q6_KFormat, 256>(DType::Q6_K, a8k),
  };
  for (size_t i = 0; i < kWeightFormats; ++i) table.formats[i] = rows[i];
}

constexpr void fill_activations(Kernels& table) {
  // In the order of ActivationClass.
  table.activations[0] = activation_kernels<F32Chunk>();
  table.activations[1] = activation_kernels<A16Chunk>();
  table.activations[2] = activation_kernels<A8Chunk>();
  table.activations[3] = activation_kernels<A8kChunk>();
}

}  // namespace
}  // namespace maglio

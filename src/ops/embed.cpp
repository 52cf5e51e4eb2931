#include "ops/embed.h"

#include <cassert>

#include "ops/rows.h"
#include "quant/codec.h"

namespace maglio {
namespace {

// out = row `row` of the table, dequantized.
void read_row(const Kernels& kernels, const WeightMatrix& table, size_t row, float* out) {
  if (!table.is_packed()) {
    const std::byte* stored = table.rows + row * row_bytes(table.dtype, table.n_in);
    dequantize_row(table.dtype, stored, table.n_in, out);
    return;
  }
  const FormatKernels& format = format_kernels(kernels, table.dtype);
  const std::byte* panel = table.panels + row / kPanelRows * format.panel_bytes(table.n_in);
  assert(format.unpack_row != nullptr && "such an embedding is kept raw");
  format.unpack_row(panel, row % kPanelRows, table.n_in, out);
}

}  // namespace

Tensor<float, Seq, Embed> embed(Context& cx,
                                const Weight<Vocab, Embed>& table,
                                std::span<const int32_t> ids) {
  const size_t d_model = table.matrix.n_in;
  const Tensor<float, Seq, Embed> x = cx.arena.tensor<Seq, Embed>({ids.size(), d_model});
  for_each_row(cx, ids.size(), d_model, [&](size_t i) {
    read_row(cx.kernels, table.matrix, static_cast<size_t>(ids[i]), x.select<Seq>(i).span().data());
  });
  return x;
}

}  // namespace maglio

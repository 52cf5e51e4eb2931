#include "ops/embed.h"

#include "ops/rows.h"
#include "quant/codec.h"

namespace maglio {
namespace {

// out = row `row` of the table, dequantized.
void read_row(const Kernels&, const StoredRows& table, size_t row, float* out) {
  const size_t bytes = row_bytes(table.dtype, table.n_columns);
  dequantize_row(table.dtype, table.bytes + row * bytes, table.n_columns, out);
}

void read_row(const Kernels& kernels, const Weight<Vocab, Embed>& table, size_t row, float* out) {
  const PackedMatrix& m = table.matrix;
  const FormatKernels& format = format_kernels(kernels, m.dtype);
  const std::byte* panel = m.panels + row / kPanelRows * format.panel_bytes(m.n_in);
  format.unpack_row(panel, row % kPanelRows, m.n_in, out);
}

size_t width(const StoredRows& table) {
  return table.n_columns;
}
size_t width(const Weight<Vocab, Embed>& table) {
  return table.matrix.n_in;
}

}  // namespace

Tensor<float, Seq, Embed> embed(Context& cx,
                                const EmbeddingTable& table,
                                std::span<const int32_t> ids) {
  return std::visit(
      [&](const auto& rows) {
        const size_t d_model = width(rows);
        const Tensor<float, Seq, Embed> x = cx.arena.tensor<Seq, Embed>({ids.size(), d_model});
        for_each_row(cx, ids.size(), d_model, [&](size_t i) {
          read_row(cx.kernels, rows, static_cast<size_t>(ids[i]), x.select<Seq>(i).span().data());
        });
        return x;
      },
      table);
}

}  // namespace maglio

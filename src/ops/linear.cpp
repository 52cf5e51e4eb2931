#include "ops/linear.h"

#include <algorithm>
#include <utility>

#include "base/thread_pool.h"
#include "ops/rows.h"

namespace maglio::detail {
namespace {

// Grabs of panels for each thread: enough that a thread which was held up does not hold up the
// others (8 to 16 measured alike, docs/numerics.md).
constexpr size_t kGrabsPerThread = 8;

// Panels of a raw matrix that a thread packs before it multiplies with them: as many as stay in the
// second-level cache beside the activations. More than one, so that many rows of activations are
// not read again for each panel.
constexpr size_t kPackedAtOnceBytes = size_t{128} << 10;

size_t panels_at_once(const FormatKernels& kernels, size_t n_in) {
  return std::max<size_t>(1, kPackedAtOnceBytes / kernels.panel_bytes(n_in));
}

// Bytes that a thread needs to hold them; none where nothing is to be packed.
size_t panel_scratch_bytes(const FormatKernels& kernels, const WeightMatrix& w) {
  if (w.is_packed()) return 0;
  return panels_at_once(kernels, w.n_in) * kernels.panel_bytes(w.n_in);
}

// Panels [begin, end) of a raw matrix; task as for the whole of a packed one.
void multiply_raw(const FormatKernels& kernels,
                  MatmulTask task,
                  const WeightMatrix& w,
                  std::pair<size_t, size_t> panels,
                  std::byte* packed) {
  const size_t stored = row_bytes(w.dtype, w.n_in);
  const size_t panel_bytes = kernels.panel_bytes(w.n_in);
  const size_t step = panels_at_once(kernels, w.n_in);
  task.panels = packed;
  float* const out = task.out;
  for (size_t first = panels.first; first < panels.second; first += step) {
    const size_t n = std::min(step, panels.second - first);
    for (size_t i = 0; i < n; ++i) {
      const size_t row = (first + i) * kPanelRows;
      kernels.pack_panel(w.rows + row * stored, stored, std::min(kPanelRows, w.n_out - row), w.n_in,
                         packed + i * panel_bytes);
    }
    task.n_outputs = w.n_out - first * kPanelRows;
    task.out = out + first * kPanelRows;
    kernels.matmul(task, 0, n);
  }
}

}  // namespace

void quantize_for(Context& cx, const RowsToQuantize& rows, DType weights, QuantBuffers& buffers) {
  const ActivationClass activation = format_kernels(cx.kernels, weights).activation;
  const std::byte*& buffer = buffers.by_class[static_cast<size_t>(activation)];
  if (buffer != nullptr) return;
  const ActivationKernels& kernels = cx.kernels.activation(activation);
  std::byte* out = cx.arena.bytes(kernels.bytes(rows.n_rows, rows.n_in));
  const size_t grain = std::max<size_t>(1, kNumbersWorthAThread / rows.n_in);
  cx.pool.parallel_for(rows.n_rows, grain, [&](size_t begin, size_t end, size_t) {
    kernels.quantize(rows.x, rows.stride, rows.n_rows, rows.n_in, begin, end, out);
  });
  buffer = out;
}

void multiply(
    Context& cx, const QuantBuffers& x, const WeightMatrix& w, float* out, size_t out_stride) {
  const FormatKernels& kernels = format_kernels(cx.kernels, w.dtype);
  const std::byte* activations = x.by_class[static_cast<size_t>(kernels.activation)];
  assert(x.n_in == w.n_in && "load checked every shape");
  assert(activations != nullptr && "quantize() was told of this weight");
  if (x.n_rows == 0) return;
  const Arena::Scope scope(cx.arena);
  const size_t matmul_bytes = round_up(kernels.matmul_scratch_bytes(x.n_rows, w.n_in), kCacheLine);
  const size_t scratch_bytes = matmul_bytes + panel_scratch_bytes(kernels, w);
  std::byte* scratch = cx.arena.bytes(scratch_bytes * cx.pool.size());
  const size_t grain = std::max<size_t>(1, w.n_panels() / (cx.pool.size() * kGrabsPerThread));
  cx.pool.parallel_for(w.n_panels(), grain, [&](size_t begin, size_t end, size_t thread_i) {
    const MatmulTask task{.panels = w.panels,
                          .activations = activations,
                          .k = w.n_in,
                          .n_rows = x.n_rows,
                          .n_outputs = w.n_out,
                          .out = out,
                          .out_stride = out_stride,
                          .scratch = scratch + thread_i * scratch_bytes};
    if (w.is_packed()) {
      kernels.matmul(task, begin, end);
    } else {
      multiply_raw(kernels, task, w, {begin, end}, task.scratch + matmul_bytes);
    }
  });
}

}  // namespace maglio::detail

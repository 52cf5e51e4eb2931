#include "ops/linear.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "ops/rows.h"

namespace maglio::detail {
namespace {

// Grabs of panels for each thread: enough that a thread which was held up does not hold up the
// others (8 to 16 measured alike, docs/numerics.md).
constexpr size_t kGrabsPerThread = 8;

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
    Context& cx, const QuantBuffers& x, const PackedMatrix& w, float* out, size_t out_stride) {
  const FormatKernels& kernels = format_kernels(cx.kernels, w.dtype);
  const std::byte* activations = x.by_class[static_cast<size_t>(kernels.activation)];
  assert(x.n_in == w.n_in && "load checked every shape");
  assert(activations != nullptr && "quantize() was told of this weight");
  if (x.n_rows == 0) return;
  const Arena::Scope scope(cx.arena);
  const size_t scratch_bytes = round_up(kernels.matmul_scratch_bytes(x.n_rows, w.n_in), kCacheLine);
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
    kernels.matmul(task, begin, end);
  });
}

}  // namespace maglio::detail

#include "ops/linear.h"

#include <algorithm>
#include <utility>

#include "base/thread_pool.h"
#include "ops/rows.h"

namespace maglio::detail {
namespace {

// How threads share panels. One product: each thread takes half of an equal share at once, the
// other half is taken in quarters by whoever is free, so that a thread which was held up does not
// hold up the others. Where a piece begins, the hardware's prefetching begins anew: one row in
// pieces of 150 KB reads 10 % slower than in one run (Zen 4). Panels of several products do not
// cost alike, so those are taken in small pieces throughout.
class Grabs {
 public:
  Grabs(size_t n_panels, size_t n_threads, bool is_one_product) : n_panels_(n_panels) {
    constexpr size_t kOfMany = 32;  // for each thread
    n_large_ = is_one_product ? n_threads : 0;
    large_ = n_panels / (2 * n_threads);
    small_ = std::max<size_t>(1, n_panels / (n_threads * (is_one_product ? 8 : kOfMany)));
  }

  size_t count() const { return n_large_ + (n_panels_ - n_large_ * large_ + small_ - 1) / small_; }
  // The panels [first, second) of a piece; none where there are fewer panels than threads.
  std::pair<size_t, size_t> panels(size_t i) const {
    if (i < n_large_) return {i * large_, (i + 1) * large_};
    const size_t begin = n_large_ * large_ + (i - n_large_) * small_;
    return {begin, std::min(begin + small_, n_panels_)};
  }

 private:
  size_t n_panels_;
  size_t n_large_;
  size_t large_;
  size_t small_;
};

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

void multiply_panels(const Context& cx,
                     const Product& p,
                     std::pair<size_t, size_t> panels,
                     std::byte* scratch,
                     size_t matmul_bytes) {
  const FormatKernels& kernels = format_kernels(cx.kernels, p.w.dtype);
  const std::byte* activations = p.x.by_class[static_cast<size_t>(kernels.activation)];
  assert(activations != nullptr && "quantize() was told of this weight");
  const MatmulTask task{.panels = p.w.panels,
                        .activations = activations,
                        .k = p.x.n_in,
                        .n_rows = p.x.n_rows,
                        .n_outputs = p.w.n_out,
                        .out = p.out,
                        .out_stride = p.out_stride,
                        .scratch = scratch};
  if (p.w.is_packed()) {
    kernels.matmul(task, panels.first, panels.second);
  } else {
    multiply_raw(kernels, task, p.w, panels, scratch + matmul_bytes);
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

void multiply(Context& cx, std::span<const Product> products) {
  const Arena::Scope scope(cx.arena);
  size_t* const ends =
      cx.arena.array<size_t>(products.size());  // of their panels, one after another
  size_t n_panels = 0, matmul_bytes = 0, panel_bytes = 0;
  for (size_t i = 0; i < products.size(); ++i) {
    const Product& p = products[i];
    assert(p.x.n_in == p.w.n_in && "load checked every shape");
    const FormatKernels& kernels = format_kernels(cx.kernels, p.w.dtype);
    if (p.x.n_rows > 0) n_panels += p.w.n_panels();
    ends[i] = n_panels;
    matmul_bytes = std::max(matmul_bytes, kernels.matmul_scratch_bytes(p.x.n_rows, p.w.n_in));
    panel_bytes = std::max(panel_bytes, panel_scratch_bytes(kernels, p.w));
  }
  if (n_panels == 0) return;
  matmul_bytes = round_up(matmul_bytes, kCacheLine);
  const size_t scratch_bytes = matmul_bytes + panel_bytes;
  std::byte* const scratch = cx.arena.bytes(scratch_bytes * cx.pool.size());
  const Grabs grabs(n_panels, cx.pool.size(), products.size() == 1);
  cx.pool.parallel_for(grabs.count(), 1, [&](size_t grab, size_t, size_t thread_i) {
    std::byte* const mine = scratch + thread_i * scratch_bytes;
    auto [begin, end] = grabs.panels(grab);
    size_t i = static_cast<size_t>(std::upper_bound(ends, ends + products.size(), begin) - ends);
    for (; begin < end; ++i) {
      const size_t first = i == 0 ? 0 : ends[i - 1];
      const size_t stop = std::min(end, ends[i]);
      if (begin == stop) continue;  // a product without rows
      multiply_panels(cx, products[i], {begin - first, stop - first}, mine, matmul_bytes);
      begin = stop;
    }
  });
}

}  // namespace maglio::detail

#include "model/packed_weights.h"

#include <algorithm>
#include <cassert>

namespace maglio {
namespace {

// Kernels prefetch a little ahead of what they read, past the end of the last panel too.
constexpr size_t kPrefetchRoom = 8192;

bool is_matrix(const gguf::TensorInfo& tensor) {
  return tensor.dims.size() == 2 && is_weight_format(tensor.dtype);
}

PackedMatrix shape_of(const gguf::TensorInfo& tensor) {
  return {.dtype = tensor.dtype,
          .n_out = static_cast<size_t>(tensor.dims[1]),
          .n_in = static_cast<size_t>(tensor.dims[0])};
}

size_t panels_bytes(const PackedMatrix& m, const Kernels& kernels) {
  return m.n_panels() * format_kernels(kernels, m.dtype).panel_bytes(m.n_in);
}

}  // namespace

PackedWeights::PackedWeights(const gguf::File& file, const Kernels& kernels) {
  size_t capacity = kPrefetchRoom;
  for (const gguf::TensorInfo& tensor : file.tensors()) {
    if (is_matrix(tensor)) capacity += panels_bytes(shape_of(tensor), kernels);
  }
  memory_ = AlignedBytes(capacity);
}

PackedMatrix PackedWeights::pack(const gguf::File& file,
                                 const gguf::TensorInfo& tensor,
                                 const Kernels& kernels,
                                 ThreadPool& pool) {
  assert(is_matrix(tensor));
  PackedMatrix m = shape_of(tensor);
  std::byte* const panels = memory_.data() + used_;
  used_ += panels_bytes(m, kernels);
  assert(used_ <= memory_.size() && "a tensor is packed once");
  m.panels = panels;

  const FormatKernels& format = format_kernels(kernels, m.dtype);
  const size_t panel_bytes = format.panel_bytes(m.n_in);
  const size_t stored_bytes = row_bytes(m.dtype, m.n_in);
  file.prefetch(tensor);
  pool.parallel_for(m.n_panels(), 1, [&](size_t begin, size_t end, size_t) {
    for (size_t panel = begin; panel < end; ++panel) {
      const size_t row = panel * kPanelRows;
      format.pack_panel(tensor.data.data() + row * stored_bytes, stored_bytes,
                        std::min(kPanelRows, m.n_out - row), m.n_in, panels + panel * panel_bytes);
    }
  });
  file.drop_pages(tensor);
  return m;
}

std::optional<PackedMatrix> fuse(std::span<const PackedMatrix> parts, const Kernels& kernels) {
  PackedMatrix all{.dtype = parts[0].dtype, .n_in = parts[0].n_in, .panels = parts[0].panels};
  for (const PackedMatrix& part : parts) {
    const bool adjacent = part.panels == all.panels + panels_bytes(all, kernels);
    if (part.dtype != all.dtype || part.n_in != all.n_in || !adjacent) return std::nullopt;
    all.n_out += part.n_panels() * kPanelRows;
  }
  return all;
}

}  // namespace maglio

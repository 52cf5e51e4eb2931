// Weights, activations and products for the kernel tests.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "kernels/kernels.h"
#include "tensor/dtype.h"
#include "tensor/half.h"

namespace maglio {

inline const std::vector<DType> kAllFormats = {DType::F32,  DType::F16,  DType::BF16, DType::Q8_0,
                                               DType::Q4_0, DType::Q4_1, DType::Q5_0, DType::Q5_1,
                                               DType::Q4_K, DType::Q5_K, DType::Q6_K};

// Bytes on a 64-byte boundary that end (but for the rounding to that boundary) where an
// inaccessible page begins: a kernel that reads or writes past them stops the test. Sanitizers see
// neither assembly nor, in this project, the kernels at all. Filled with a pattern that no result
// is made of.
class AlignedBuffer {
 public:
  explicit AlignedBuffer(size_t n)
      : n_(n), pages_((n + 63) / page_bytes() * page_bytes() + page_bytes()) {
    void* mapping = mmap(nullptr, pages_ + page_bytes(), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) throw std::bad_alloc();
    mapping_ = static_cast<std::byte*>(mapping);
    mprotect(mapping_ + pages_, page_bytes(), PROT_NONE);
    std::memset(mapping_, 0xa5, pages_);
  }
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : n_(other.n_), pages_(other.pages_), mapping_(std::exchange(other.mapping_, nullptr)) {}
  ~AlignedBuffer() {
    if (mapping_ != nullptr) munmap(mapping_, pages_ + page_bytes());
  }

  std::byte* data() { return mapping_ + pages_ - (n_ + 63) / 64 * 64; }
  size_t size() const { return n_; }

 private:
  static size_t page_bytes() {
    static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
  }

  size_t n_;
  size_t pages_;
  std::byte* mapping_ = nullptr;
};

struct Matrix {
  DType dtype;
  size_t n_outputs;
  size_t k;
  std::vector<std::byte> rows;  // as a file stores them
  size_t row_size() const { return row_bytes(dtype, k); }
  const std::byte* row(size_t i) const { return rows.data() + i * row_size(); }
};

// Offsets of the f16 scales in a block of the format.
inline std::vector<size_t> scale_offsets(DType dtype) {
  switch (dtype) {
    case DType::Q8_0:
    case DType::Q4_0:
    case DType::Q5_0:
      return {0};
    case DType::Q4_1:
    case DType::Q5_1:
    case DType::Q4_K:
    case DType::Q5_K:
      return {0, 2};
    case DType::Q6_K:
      return {208};
    default:
      return {};
  }
}

inline void put_half(std::byte* at, float x) {
  const Half h = to_half(x);
  std::memcpy(at, &h, sizeof h);
}

// How the integers of the blocks are chosen.
enum class Integers { random, all_largest, all_smallest, zero_blocks };

inline void fill_blocks(Matrix& w, Integers choice, std::mt19937& rng) {
  const DTypeInfo& info = dtype_info(w.dtype);
  std::normal_distribution<float> normal;
  for (size_t at = 0; at < w.rows.size(); at += info.block_bytes) {
    std::byte* block = w.rows.data() + at;
    for (size_t i = 0; i < info.block_bytes; ++i) {
      const auto value = choice == Integers::all_largest    ? 0xffu
                         : choice == Integers::all_smallest ? 0u
                                                            : static_cast<unsigned>(rng() & 0xff);
      block[i] = static_cast<std::byte>(value);
    }
    if (choice == Integers::all_largest && w.dtype == DType::Q8_0) {
      std::fill(block + 2, block + 34, std::byte{0x80});  // -128: the largest magnitude
    }
    if (choice == Integers::all_largest && w.dtype == DType::Q6_K) {
      std::fill(block + 192, block + 208, std::byte{0x80});
    }
    if (choice == Integers::all_smallest && w.dtype == DType::Q6_K) {
      std::fill(block + 192, block + 208, std::byte{0x80});  // times -32: the largest magnitude
    }
    for (size_t offset : scale_offsets(w.dtype)) {
      const bool zero = choice == Integers::zero_blocks && rng() % 2 == 0;
      put_half(block + offset, zero ? 0.0f : 0.05f * normal(rng));
    }
  }
}

inline Matrix random_matrix(
    DType dtype, size_t n_outputs, size_t k, Integers choice, uint32_t seed) {
  Matrix w{dtype, n_outputs, k, std::vector<std::byte>(n_outputs * row_bytes(dtype, k))};
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  if (dtype_info(dtype).block_size > 1) {
    fill_blocks(w, choice, rng);
    return w;
  }
  for (size_t i = 0; i < n_outputs * k; ++i) {
    const float x = choice == Integers::all_largest
                        ? 65280.0f  // BF16: 255 * 256, its largest integer
                    : choice == Integers::all_smallest ? -1e-7f
                    : choice == Integers::zero_blocks  ? (rng() % 2 ? 0.0f : -0.0f)
                                                       : normal(rng);
    if (dtype == DType::F32) {
      std::memcpy(w.rows.data() + 4 * i, &x, 4);
    } else {
      const uint16_t bits = dtype == DType::F16 ? to_half(x).bits : to_bfloat16(x).bits;
      std::memcpy(w.rows.data() + 2 * i, &bits, 2);
    }
  }
  return w;
}

inline AlignedBuffer packed(const Kernels& kernels, const Matrix& w) {
  const FormatKernels& f = format_kernels(kernels, w.dtype);
  const size_t n_panels = (w.n_outputs + kPanelRows - 1) / kPanelRows;
  AlignedBuffer panels(n_panels * f.panel_bytes(w.k));
  for (size_t p = 0; p < n_panels; ++p) {
    const size_t n = std::min(kPanelRows, w.n_outputs - p * kPanelRows);
    f.pack_panel(w.row(p * kPanelRows), w.row_size(), n, w.k,
                 panels.data() + p * f.panel_bytes(w.k));
  }
  return panels;
}

inline constexpr float kUntouched = -12345.0f;

// out: [n_rows, n_outputs + 3]; the last three columns must stay untouched. Panels in runs of
// `run`.
inline std::vector<float> multiply(const Kernels& kernels,
                                   const Matrix& w,
                                   std::span<const float> x,
                                   size_t n_rows,
                                   size_t run = 1000) {
  const FormatKernels& f = format_kernels(kernels, w.dtype);
  const ActivationKernels& activation = kernels.activation(f.activation);
  AlignedBuffer panels = packed(kernels, w);
  AlignedBuffer quantized(activation.bytes(n_rows, w.k));
  AlignedBuffer guarded_x(x.size_bytes());
  std::memcpy(guarded_x.data(), x.data(), x.size_bytes());
  activation.quantize(reinterpret_cast<const float*>(guarded_x.data()), w.k, n_rows, w.k, 0, n_rows,
                      quantized.data());
  AlignedBuffer scratch(f.matmul_scratch_bytes(n_rows, w.k));
  std::vector<float> out(n_rows * (w.n_outputs + 3), kUntouched);
  const MatmulTask task{.panels = panels.data(),
                        .activations = quantized.data(),
                        .k = w.k,
                        .n_rows = n_rows,
                        .n_outputs = w.n_outputs,
                        .out = out.data(),
                        .out_stride = w.n_outputs + 3,
                        .scratch = scratch.data()};
  const size_t n_panels = (w.n_outputs + kPanelRows - 1) / kPanelRows;
  for (size_t p = 0; p < n_panels; p += run) f.matmul(task, p, std::min(p + run, n_panels));
  return out;
}

}  // namespace maglio

// One tensor of a model file: its name, number format, shape, and where its bytes lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"

namespace maglio::gguf {

// Invariants (the reader's): 1 to 4 dims; dims[0] is a multiple of the format's block size; the
// product of the dims fits 63 bits; data holds exactly that many values and begins at a multiple of
// the file's alignment. Views of the file's bytes: valid as long as the File.
struct TensorInfo {
  std::string_view name;
  DType dtype = DType::F32;
  std::vector<uint64_t> dims;  // innermost first: a matrix [d_out, d_in] has dims {d_in, d_out}
  std::span<const std::byte> data;  // as stored, in dtype's blocks

  uint64_t n_values() const {
    uint64_t n = 1;
    for (const uint64_t dim : dims) n *= dim;
    return n;
  }
};

}  // namespace maglio::gguf

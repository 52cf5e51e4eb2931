// The one resident copy of the matrices: panels as the kernels read them, in one piece of memory.
//
// A matrix is packed once, at load, all threads sharing its panels; then the pages of the file it
// came from are given back. Matrices packed one after the other lie one after the other, without a
// gap, which is what makes fusing them a matter of looking at two as one.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/aligned_bytes.h"
#include "base/thread_pool.h"
#include "gguf/reader.h"
#include "kernels/kernels.h"
#include "ops/linear.h"

namespace maglio {

// Owner, movable; what it packed points into it and stays valid when it moves.
class PackedWeights {
 public:
  PackedWeights() = default;
  // Room for every matrix of the file. Pages are taken from the system only as they are filled.
  PackedWeights(const gguf::File& file, const Kernels& kernels);

  // Requires: a two-dimensional tensor of the file, of a weight format, packed at most once.
  PackedMatrix pack(const gguf::File& file,
                    const gguf::TensorInfo& tensor,
                    const Kernels& kernels,
                    ThreadPool& pool);

  size_t bytes_used() const { return used_; }

 private:
  AlignedBytes memory_;
  size_t used_ = 0;
};

// The parts as one matrix, when they have one format, one input and no gap between them. Each part
// begins at a panel of its own: where the one before ends within a panel, zero rows lie between.
std::optional<PackedMatrix> fuse(std::span<const PackedMatrix> parts, const Kernels& kernels);

}  // namespace maglio

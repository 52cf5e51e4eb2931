// The one resident copy of the matrices: panels as the kernels read them, in one piece of memory.
//
// Loading has two halves. First every matrix is given its place, in the order of the forward pass:
// matrices placed one after the other lie one after the other, without a gap, which is what makes
// fusing them a matter of looking at two as one. Then fill() packs them all, in the order in which
// they lie in the file: threads take runs of rows of half a megabyte, read them once, and give the
// file's pages back. So memory never holds much more than one copy of what was read so far.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/aligned_bytes.h"
#include "base/thread_pool.h"
#include "gguf/reader.h"
#include "kernels/kernels.h"
#include "ops/linear.h"

namespace maglio {

// Owner, movable; what it placed points into it and stays valid when it moves.
class PackedWeights {
 public:
  PackedWeights() = default;
  // Room for every matrix of the file. Pages are taken from the system only as they are filled.
  PackedWeights(const gguf::File& file, const Kernels& kernels);

  // The matrix, behind all that were placed before; its panels may be read after fill().
  // Requires: a two-dimensional tensor of the file, of a weight format, placed at most once.
  PackedMatrix place(const gguf::TensorInfo& tensor, const Kernels& kernels);

  // Packs everything that was placed.
  void fill(const gguf::File& file, const Kernels& kernels, ThreadPool& pool);

  size_t bytes_used() const { return used_; }

 private:
  struct Placed {
    std::span<const std::byte> stored;
    PackedMatrix matrix;
    std::byte* panels;
  };
  struct Run;
  std::vector<Run> runs(const Kernels& kernels) const;

  AlignedBytes memory_;
  size_t used_ = 0;
  std::vector<Placed> placed_;
};

// The parts as one matrix, when they have one format, one input and no gap between them. Each part
// begins at a panel of its own: where the one before ends within a panel, zero rows lie between.
std::optional<PackedMatrix> fuse(std::span<const PackedMatrix> parts, const Kernels& kernels);

}  // namespace maglio

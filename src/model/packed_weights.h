// The one resident copy of the matrices: panels as the kernels read them, in one piece of memory.
//
// Loading has two halves. First every matrix is given its place, in the order of the forward pass:
// matrices placed one after the other lie one after the other, without a gap, which is what makes
// fusing them a matter of looking at two as one. Then fill() packs them all, in the order in which
// they lie in the file: threads take runs of rows of half a megabyte, read them once, and give the
// file's pages back. So memory never holds much more than one copy of what was read so far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/mapped_file.h"
#include "base/page_range.h"
#include "base/thread_pool.h"
#include "gguf/reader.h"
#include "kernels/kernels.h"
#include "maglio/load_options.h"
#include "ops/linear.h"

namespace maglio {

struct PackPiece;

// Owner, movable; what it placed points into it and stays valid when it moves.
class PackedWeights {
 public:
  PackedWeights() = default;
  // Room for so much. Pages are taken from the system only as they are filled.
  explicit PackedWeights(size_t capacity_bytes);

  // The matrix, behind all that were placed before; its panels may be read after fill().
  // Requires: a matrix of a weight format; room for it.
  WeightMatrix place(const gguf::TensorInfo& tensor, const Kernels& kernels);

  // Packs everything that was placed. on_progress(done, all), in bytes of the file, is called on
  // the calling thread only.
  using OnProgress = std::function<void(uint64_t, uint64_t)>;
  void fill(const gguf::File& file,
            const Kernels& kernels,
            ThreadPool& pool,
            const OnProgress& on_progress);

  // The same from a cache file (pack_cache.h), which is made first where there is none that fits.
  // Returns what a user should know, and whether the panels are there: without room on the disk
  // they are not.
  struct CacheReport {
    bool filled = false;
    std::vector<std::string> notes;
  };
  CacheReport fill_from_cache(const gguf::File& file,
                              const Kernels& kernels,
                              ThreadPool& pool,
                              const LoadOptions& options);

  // Throws: Error io "FileShrank" where the panels lie in a file and that has been cut.
  void require_whole_file() const;

  size_t bytes_used() const { return used_; }

 private:
  struct Placed {
    std::span<const std::byte> stored;
    WeightMatrix matrix;
    std::byte* panels;
  };
  struct Run;
  static uint64_t layout_of(const std::vector<Run>& all, std::span<const PackPiece> pieces);
  std::vector<Run> runs(const Kernels& kernels) const;
  // Calls pack(run, i, thread_i) for all runs on the pool, in the order of the file.
  template <class Pack>
  void for_each_run(const gguf::File& file,
                    const std::vector<Run>& all,
                    ThreadPool& pool,
                    const OnProgress& on_progress,
                    const Pack& pack);

  PageRange memory_;
  std::optional<MappedFile> cache_;  // that the panels are shown from
  size_t used_ = 0;
  std::vector<Placed> placed_;
};

// A tensor of two dimensions in a weight format, as the file has it.
bool is_matrix(const gguf::TensorInfo& tensor);
WeightMatrix raw_matrix(const gguf::TensorInfo& tensor);

size_t packed_bytes(const WeightMatrix& m, const Kernels& kernels);

// Behind the last panel of a piece of memory: kernels prefetch a little ahead of what they read.
inline constexpr size_t kPrefetchRoom = 8192;

// Rows [n_rows, n_in] as a file stores them, into panels. Requires: room for whole panels.
void pack_rows(const FormatKernels& format,
               const std::byte* rows,
               size_t n_rows,
               size_t n_in,
               std::byte* panels);

// The parts as one matrix, when they are packed, have one format, one input and no gap between
// them. Each part begins at a panel of its own: where the one before ends within a panel, zero rows
// lie between.
std::optional<WeightMatrix> fuse(std::span<const WeightMatrix> parts, const Kernels& kernels);

}  // namespace maglio

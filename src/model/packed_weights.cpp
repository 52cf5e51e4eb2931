#include "model/packed_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <set>

#include "base/aligned_bytes.h"
#include "base/checksum.h"
#include "base/random.h"
#include "model/fingerprint.h"
#include "model/pack_cache.h"

namespace maglio {
namespace {

// What a thread takes at once, as stored. Small beside any model, so that what has been read and
// not yet been given back is no memory to speak of; large beside the price of giving it back.
constexpr size_t kRunBytes = size_t{512} << 10;
// Runs that the system is asked to read ahead: a disk is busy while the threads pack.
constexpr size_t kRunsAhead = 32;

}  // namespace

bool is_matrix(const gguf::TensorInfo& tensor) {
  return tensor.dims.size() == 2 && is_weight_format(tensor.dtype);
}

WeightMatrix raw_matrix(const gguf::TensorInfo& tensor) {
  assert(is_matrix(tensor));
  return {.dtype = tensor.dtype,
          .n_out = static_cast<size_t>(tensor.dims[1]),
          .n_in = static_cast<size_t>(tensor.dims[0]),
          .rows = tensor.data.data()};
}

size_t packed_bytes(const WeightMatrix& m, const Kernels& kernels) {
  return m.n_panels() * format_kernels(kernels, m.dtype).panel_bytes(m.n_in);
}

void pack_rows(const FormatKernels& format,
               const std::byte* rows,
               size_t n_rows,
               size_t n_in,
               std::byte* panels) {
  const size_t stored_bytes = row_bytes(format.dtype, n_in);
  const size_t panel_bytes = format.panel_bytes(n_in);
  for (size_t row = 0; row < n_rows; row += kPanelRows) {
    format.pack_panel(rows + row * stored_bytes, stored_bytes, std::min(kPanelRows, n_rows - row),
                      n_in, panels + row / kPanelRows * panel_bytes);
  }
}

// Some panels of one matrix: what one thread packs in one go.
struct PackedWeights::Run {
  std::span<const std::byte> stored;  // [n_rows, n_in]
  size_t n_rows;                      // whole panels, but for the end of a matrix
  size_t n_in;
  size_t panel_bytes;
  const FormatKernels* format;
  std::byte* panels;

  size_t panels_bytes() const { return (n_rows + kPanelRows - 1) / kPanelRows * panel_bytes; }
  void pack_to(std::byte* out) const { pack_rows(*format, stored.data(), n_rows, n_in, out); }
};

// A number that changes with everything that decides what panels a file becomes: which rows go
// where, and how each format is packed, of which a panel of arbitrary bytes is the proof.
uint64_t PackedWeights::layout_of(const std::vector<Run>& all, std::span<const PackPiece> pieces) {
  constexpr size_t kColumns = 512;
  uint64_t sum = checksum(std::as_bytes(pieces));
  std::set<DType> seen;
  for (const Run& run : all) {
    const uint64_t facts[3] = {static_cast<uint64_t>(run.format->dtype), run.n_rows, run.n_in};
    sum = checksum(std::as_bytes(std::span(facts)), sum);
    if (!seen.insert(run.format->dtype).second) continue;
    const size_t stored_bytes = maglio::row_bytes(run.format->dtype, kColumns);
    std::vector<uint8_t> rows(kPanelRows * stored_bytes);
    Random random(1);
    for (uint8_t& byte : rows) byte = static_cast<uint8_t>(random.next());
    const AlignedBytes panel(run.format->panel_bytes(kColumns));
    run.format->pack_panel(std::as_bytes(std::span(rows)).data(), stored_bytes, kPanelRows,
                           kColumns, panel.data());
    sum = checksum({panel.data(), panel.size()}, sum);
  }
  return sum;
}

PackedWeights::PackedWeights(size_t capacity_bytes) : memory_(capacity_bytes + kPrefetchRoom) {}

WeightMatrix PackedWeights::place(const gguf::TensorInfo& tensor, const Kernels& kernels) {
  WeightMatrix m = raw_matrix(tensor);
  std::byte* const panels = memory_.data() + used_;
  used_ += packed_bytes(m, kernels);
  assert(used_ <= memory_.size() && "the room was counted");
  m.rows = nullptr;
  m.panels = panels;
  placed_.push_back({tensor.data, m, panels});
  return m;
}

void PackedWeights::fill(const gguf::File& file,
                         const Kernels& kernels,
                         ThreadPool& pool,
                         const OnProgress& on_progress) {
  for_each_run(file, runs(kernels), pool, on_progress,
               [](const Run& run, size_t, size_t) { run.pack_to(run.panels); });
  placed_.clear();
}

template <class Pack>
void PackedWeights::for_each_run(const gguf::File& file,
                                 const std::vector<Run>& all,
                                 ThreadPool& pool,
                                 const OnProgress& on_progress,
                                 const Pack& pack) {
  uint64_t all_bytes = 0;
  for (const Run& run : all) all_bytes += run.stored.size();
  std::atomic<uint64_t> done_bytes{0};
  pool.parallel_for(all.size(), 1, [&](size_t begin, size_t end, size_t thread_i) {
    for (size_t i = begin; i < end; ++i) {
      if (i % kRunsAhead == 0) {  // the window after the one that begins here; at first, both
        const size_t last = std::min(i + 2 * kRunsAhead, all.size());
        for (size_t j = i == 0 ? 0 : i + kRunsAhead; j < last; ++j) file.prefetch(all[j].stored);
      }
      pack(all[i], i, thread_i);
      file.drop_pages(all[i].stored);
      done_bytes += all[i].stored.size();
      if (thread_i == 0 && on_progress) on_progress(done_bytes, all_bytes);
    }
  });
}

PackedWeights::CacheReport PackedWeights::fill_from_cache(const gguf::File& file,
                                                          const Kernels& kernels,
                                                          ThreadPool& pool,
                                                          const LoadOptions& options) {
  const std::vector<Run> all = runs(kernels);
  std::vector<PackPiece> pieces;
  for (const Run& run : all) {
    pieces.push_back({static_cast<size_t>(run.panels - memory_.data()), run.panels_bytes()});
  }
  const PackCacheKey key{fingerprint(file, Fingerprint::content_and_time), layout_of(all, pieces)};
  const std::filesystem::path path = pack_cache_path(file, *options.pack_cache);
  CacheReport report;
  PackCacheLookup found = find_pack_cache(path, key, pieces, memory_, pool);
  if (!found.file) {
    if (!found.why_not.empty()) {
      report.notes.push_back(fmt::format("{} {}: made anew", path.string(), found.why_not));
    }
    PackCacheWriter writer(path, key, pieces);
    std::vector<AlignedBytes> scratch(pool.size());
    for_each_run(file, all, pool, options.on_progress,
                 [&](const Run& run, size_t i, size_t thread_i) {
                   AlignedBytes& panels = scratch[thread_i];
                   const size_t n = run.panels_bytes();
                   if (panels.size() < n) panels = AlignedBytes(n);
                   run.pack_to(panels.data());
                   writer.put(i, {panels.data(), n});
                 });
    if (const auto why = writer.finish()) {
      report.notes.push_back(
          fmt::format("{} {}: packed weights are not kept", path.string(), *why));
      return report;
    }
    found = find_pack_cache(path, key, pieces, memory_, pool);
    if (!found.file) return report;  // changed under our hands: we do without
  }
  cache_ = std::move(found.file);
  placed_.clear();
  report.filled = true;
  return report;
}

void PackedWeights::require_whole_file() const {
  if (cache_) cache_->require_full_size();
}

// In the order of the file, so that a disk is read from front to back.
std::vector<PackedWeights::Run> PackedWeights::runs(const Kernels& kernels) const {
  std::vector<Run> all;
  for (const Placed& placed : placed_) {
    const WeightMatrix& m = placed.matrix;
    const FormatKernels& format = format_kernels(kernels, m.dtype);
    const size_t stored_bytes = row_bytes(m.dtype, m.n_in);
    const size_t step = std::max<size_t>(1, kRunBytes / (stored_bytes * kPanelRows)) * kPanelRows;
    for (size_t row = 0; row < m.n_out; row += step) {
      const size_t n = std::min(step, m.n_out - row);
      const size_t panel_bytes = format.panel_bytes(m.n_in);
      all.push_back({.stored = placed.stored.subspan(row * stored_bytes, n * stored_bytes),
                     .n_rows = n,
                     .n_in = m.n_in,
                     .panel_bytes = panel_bytes,
                     .format = &format,
                     .panels = placed.panels + row / kPanelRows * panel_bytes});
    }
  }
  std::ranges::sort(all, {}, [](const Run& run) { return run.stored.data(); });
  return all;
}

std::optional<WeightMatrix> fuse(std::span<const WeightMatrix> parts, const Kernels& kernels) {
  if (!parts[0].is_packed()) return std::nullopt;
  WeightMatrix all{.dtype = parts[0].dtype, .n_in = parts[0].n_in, .panels = parts[0].panels};
  for (const WeightMatrix& part : parts) {
    const bool adjacent = part.panels == all.panels + packed_bytes(all, kernels);
    if (part.dtype != all.dtype || part.n_in != all.n_in || !adjacent) return std::nullopt;
    all.n_out += part.n_panels() * kPanelRows;
  }
  return all;
}

}  // namespace maglio

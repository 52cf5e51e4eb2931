#include "ops/attention_schedule.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "base/thread_pool.h"
#include "tensor/arena.h"

namespace maglio::detail {
namespace {

// Queries of a tile: enough to pay for expanding a page, few enough for the second-level cache.
constexpr size_t kTileQueries = 96;
// Up to so many queries of a kv head, pages are the unit of work whatever the number of threads.
constexpr size_t kPagesUpTo = 16;
// Grabs of work for each thread: enough that a thread which was held up does not hold up the
// others.
constexpr size_t kGrabsPerThread = 8;

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

struct KeyRange {
  size_t begin, end;
};

KeyRange visible_keys(const AttentionOptions& options, const AttentionStream& stream, size_t row) {
  if (options.mask == AttentionMask::bidirectional) return {0, stream.n_keys};
  const size_t end = stream.position + row + 1;
  const size_t window = options.window == 0 ? end : std::min(options.window, end);
  return {end - window, end};
}

// Rows [first, first + n) of a stream, against one kv head.
struct RowGroup {
  size_t stream_i;
  size_t job_row;  // of the stream's row 0 in the job
  size_t first;
  size_t n;
  size_t kv_head;
  size_t first_page = 0;  // that some row sees something of
  size_t n_pages = 0;
  // Of rows whose unit of work is the page:
  float* queries = nullptr;  // [n * group, head_dim], scaled
  size_t partials = 0;       // where those of its first page begin
};

// A page's part of each query's range, as the kernels take it.
class PageRanges {
 public:
  PageRanges(uint8_t* begins, uint8_t* ends) : begins_(begins), ends_(ends) {}

  // Sets the ranges of the group's queries in a page; returns whether one of them is not empty.
  bool set(const AttentionJob& job, const RowGroup& rows, size_t page) {
    const size_t page_begin = page * kPageKeys;
    first_ = rows.n * job.group;
    last_ = 0;
    for (size_t r = 0; r < rows.n; ++r) {
      const KeyRange keys = visible_keys(job.options, job.streams[rows.stream_i], rows.first + r);
      const size_t begin = std::clamp(keys.begin, page_begin, page_begin + kPageKeys) - page_begin;
      const size_t end = std::clamp(keys.end, page_begin, page_begin + kPageKeys) - page_begin;
      for (size_t i = r * job.group; i < (r + 1) * job.group; ++i) {
        begins_[i] = static_cast<uint8_t>(begin);
        ends_[i] = static_cast<uint8_t>(end);
        if (begin < end) {
          first_ = std::min(first_, i);
          last_ = i + 1;
        }
      }
    }
    return first_ < last_;
  }

  // Queries [first, last) hold all that see something.
  size_t first() const { return first_; }
  size_t last() const { return last_; }
  const uint8_t* begins() const { return begins_; }
  const uint8_t* ends() const { return ends_; }

 private:
  uint8_t* begins_;
  uint8_t* ends_;
  size_t first_ = 0, last_ = 0;
};

// m, l and o of some queries. Memory: [n], [n], [n, head_dim].
struct Partials {
  float* maxima;
  float* sums;
  float* outputs;
};

// One thread's memory.
struct Workspace {
  uint8_t* begins;
  uint8_t* ends;
  float* queries;
  Partials running;
  std::byte* kernel;
};

class Attention {
 public:
  Attention(Context& cx, const AttentionJob& job) : cx_(cx), job_(job) {}

  void run() {
    plan();
    make_workspaces();
    run_tiles();
    run_pages();
  }

 private:
  struct PageItem {
    const RowGroup* rows;
    size_t page;  // counted from the group's first
  };

  const AttentionStream& stream_of(const RowGroup& rows) const {
    return job_.streams[rows.stream_i];
  }
  bool goes_by_pages(const AttentionStream& stream) const;
  size_t rows_at_once(const AttentionStream& stream) const;
  void plan();
  void add_rows(RowGroup rows);
  void make_workspaces();
  Partials make_partials(size_t n) const;
  void clear(const Partials& running, size_t n) const;
  void scale_queries(const RowGroup& rows, float* to) const;
  AttendPageTask task(const RowGroup& rows,
                      size_t page,
                      const float* queries,
                      const PageRanges& ranges,
                      const Partials& to) const;
  void finish(const RowGroup& rows, const Partials& running) const;
  void run_tiles();
  void run_tile(const RowGroup& rows, const Workspace& w) const;
  void run_pages();
  void run_page(const PageItem& item, const Workspace& w) const;
  void fold_pages(const RowGroup& rows, const Workspace& w) const;

  Context& cx_;
  const AttentionJob& job_;
  std::span<RowGroup> tiles_;
  std::span<RowGroup> page_rows_;  // per stream, kv heads ascending
  size_t most_queries_ = 0;        // of a group
  size_t n_partials_ = 0;
  Partials partials_{};  // of all groups by pages: [page][query] each
  Workspace* workspaces_ = nullptr;
};

// Few rows go by pages; so do those whose tiles, one for each kv head, would be too few to keep
// all threads busy to the end.
bool Attention::goes_by_pages(const AttentionStream& stream) const {
  const size_t n_queries = stream.n_rows * job_.group;
  if (stream.n_keys <= kPageKeys) return false;
  if (n_queries <= kPagesUpTo) return true;
  return n_queries <= kTileQueries && cx_.pool.size() > 1 &&
         job_.n_kv_heads < kGrabsPerThread * cx_.pool.size();
}

size_t Attention::rows_at_once(const AttentionStream& stream) const {
  const size_t tile = std::max<size_t>(1, kTileQueries / job_.group);
  return goes_by_pages(stream) ? stream.n_rows : std::min(stream.n_rows, tile);
}

// Cuts every stream into groups of rows, and decides their shape of work.
void Attention::plan() {
  size_t n_tiles = 0, n_page_rows = 0;
  for (const AttentionStream& stream : job_.streams) {
    assert(stream.position + stream.n_rows <= stream.n_keys);
    assert(stream.n_keys <= stream.keys_values.pages.size() * kPageKeys);
    if (stream.n_rows == 0) continue;
    const size_t at_once = rows_at_once(stream);
    const size_t n_groups = job_.n_kv_heads * ((stream.n_rows + at_once - 1) / at_once);
    (goes_by_pages(stream) ? n_page_rows : n_tiles) += n_groups;
    most_queries_ = std::max(most_queries_, at_once * job_.group);
  }
  tiles_ = {cx_.arena.array<RowGroup>(n_tiles), 0};
  page_rows_ = {cx_.arena.array<RowGroup>(n_page_rows), 0};
  size_t job_row = 0;
  for (size_t s = 0; s < job_.streams.size(); job_row += job_.streams[s++].n_rows) {
    const AttentionStream& stream = job_.streams[s];
    for (size_t h = 0; h < job_.n_kv_heads; ++h) {
      for (size_t first = 0; first < stream.n_rows; first += rows_at_once(stream)) {
        const size_t n = std::min(rows_at_once(stream), stream.n_rows - first);
        add_rows({.stream_i = s, .job_row = job_row, .first = first, .n = n, .kv_head = h});
      }
    }
  }
  // The last tiles of a prompt see the most pages: they go first, so that no thread is left with
  // one at the end.
  std::ranges::sort(tiles_, std::greater{},
                    [](const RowGroup& rows) { return rows.n_pages * rows.n; });
}

void Attention::add_rows(RowGroup rows) {
  const AttentionStream& stream = stream_of(rows);
  const KeyRange first = visible_keys(job_.options, stream, rows.first);
  const KeyRange last = visible_keys(job_.options, stream, rows.first + rows.n - 1);
  rows.first_page = first.begin / kPageKeys;
  rows.n_pages = (last.end + kPageKeys - 1) / kPageKeys - rows.first_page;
  std::span<RowGroup>& groups = goes_by_pages(stream) ? page_rows_ : tiles_;
  if (goes_by_pages(stream)) {
    const size_t n_queries = rows.n * job_.group;
    rows.queries = cx_.arena.array<float>(n_queries * job_.head_dim);
    scale_queries(rows, rows.queries);
    rows.partials = n_partials_;
    n_partials_ += rows.n_pages * n_queries;
  }
  groups = {groups.data(), groups.size() + 1};
  groups.back() = rows;
}

Partials Attention::make_partials(size_t n) const {
  return {cx_.arena.array<float>(n), cx_.arena.array<float>(n),
          cx_.arena.array<float>(n * job_.head_dim)};
}

void Attention::make_workspaces() {
  const AttentionKernels& kernels = *job_.streams.front().keys_values.kernels;
  workspaces_ = cx_.arena.array<Workspace>(cx_.pool.size());
  for (size_t i = 0; i < cx_.pool.size(); ++i) {
    workspaces_[i] = {
        cx_.arena.array<uint8_t>(most_queries_), cx_.arena.array<uint8_t>(most_queries_),
        cx_.arena.array<float>(most_queries_ * job_.head_dim), make_partials(most_queries_),
        cx_.arena.bytes(kernels.attend_scratch_bytes(most_queries_, job_.head_dim))};
  }
}

void Attention::clear(const Partials& running, size_t n) const {
  std::fill_n(running.maxima, n, kMinusInfinity);
  std::fill_n(running.sums, n, 0.0f);
  std::fill_n(running.outputs, n * job_.head_dim, 0.0f);
}

// The queries of a group together, times 1 / sqrt(head_dim).
void Attention::scale_queries(const RowGroup& rows, float* to) const {
  const float scale = 1.0f / std::sqrt(static_cast<float>(job_.head_dim));
  for (size_t r = 0; r < rows.n; ++r) {
    for (size_t h = 0; h < job_.group; ++h, to += job_.head_dim) {
      const auto from = job_.queries.select<Seq>(rows.job_row + rows.first + r)
                            .select<Head>(rows.kv_head * job_.group + h);
      cx_.kernels.rows.scale(from.span().data(), scale, job_.head_dim, to);
    }
  }
}

// One page and the queries of the group that see something of it; results to their places in `to`.
AttendPageTask Attention::task(const RowGroup& rows,
                               size_t page,
                               const float* queries,
                               const PageRanges& ranges,
                               const Partials& to) const {
  const KvPages& pages = stream_of(rows).keys_values;
  const size_t first = ranges.first();
  return {.key_page = pages.key_page(page, rows.kv_head),
          .value_page = pages.value_page(page, rows.kv_head),
          .queries = queries + first * job_.head_dim,
          .query_stride = job_.head_dim,
          .n_queries = ranges.last() - first,
          .head_dim = job_.head_dim,
          .key_begin = ranges.begins() + first,
          .key_end = ranges.ends() + first,
          .maxima = to.maxima + first,
          .sums = to.sums + first,
          .outputs = to.outputs + first * job_.head_dim,
          .scratch = nullptr};
}

void Attention::finish(const RowGroup& rows, const Partials& running) const {
  const size_t n_heads = job_.n_kv_heads * job_.group;
  for (size_t i = 0; i < rows.n * job_.group; ++i) {
    const size_t row = rows.job_row + rows.first + i / job_.group;
    const size_t head = rows.kv_head * job_.group + i % job_.group;
    cx_.kernels.folding.finish(running.outputs + i * job_.head_dim, running.sums[i], job_.head_dim,
                               job_.out + (row * n_heads + head) * job_.head_dim);
  }
}

void Attention::run_tiles() {
  cx_.pool.parallel_for(tiles_.size(), 1, [&](size_t begin, size_t end, size_t thread_i) {
    for (size_t i = begin; i < end; ++i) run_tile(tiles_[i], workspaces_[thread_i]);
  });
}

void Attention::run_tile(const RowGroup& rows, const Workspace& w) const {
  scale_queries(rows, w.queries);
  clear(w.running, rows.n * job_.group);
  PageRanges ranges(w.begins, w.ends);
  for (size_t page = rows.first_page; page < rows.first_page + rows.n_pages; ++page) {
    if (!ranges.set(job_, rows, page)) continue;
    AttendPageTask t = task(rows, page, w.queries, ranges, w.running);
    t.scratch = w.kernel;
    stream_of(rows).keys_values.kernels->fold_page(t);
  }
  finish(rows, w.running);
}

void Attention::run_page(const PageItem& item, const Workspace& w) const {
  const RowGroup& rows = *item.rows;
  const size_t n_queries = rows.n * job_.group;
  const size_t first = rows.partials + item.page * n_queries;
  const Partials to{partials_.maxima + first, partials_.sums + first,
                    partials_.outputs + first * job_.head_dim};
  std::fill_n(to.sums, n_queries, 0.0f);  // of queries that see nothing here
  PageRanges ranges(w.begins, w.ends);
  const size_t page = rows.first_page + item.page;
  if (!ranges.set(job_, rows, page)) return;
  AttendPageTask t = task(rows, page, rows.queries, ranges, to);
  t.scratch = w.kernel;
  stream_of(rows).keys_values.kernels->attend_page(t);
}

void Attention::fold_pages(const RowGroup& rows, const Workspace& w) const {
  const size_t n_queries = rows.n * job_.group;
  clear(w.running, n_queries);
  for (size_t i = 0; i < n_queries; ++i) {
    const size_t first = rows.partials + i;
    cx_.kernels.folding.fold({.maxima = partials_.maxima + first,
                              .sums = partials_.sums + first,
                              .outputs = partials_.outputs + first * job_.head_dim,
                              .stride = n_queries,
                              .n_pages = rows.n_pages},
                             job_.head_dim, w.running.maxima + i, w.running.sums + i,
                             w.running.outputs + i * job_.head_dim);
  }
  finish(rows, w.running);
}

void Attention::run_pages() {
  partials_ = make_partials(n_partials_);
  size_t n_items = 0;
  for (const RowGroup& rows : page_rows_) n_items += rows.n_pages;
  // In the order of memory: a stream's pages, in a page its kv heads.
  auto* items = cx_.arena.array<PageItem>(n_items);
  PageItem* next = items;
  for (size_t g = 0; g < page_rows_.size(); g += job_.n_kv_heads) {
    for (size_t page = 0; page < page_rows_[g].n_pages; ++page) {
      for (size_t h = 0; h < job_.n_kv_heads; ++h) *next++ = {&page_rows_[g + h], page};
    }
  }
  const size_t grain = std::max<size_t>(1, n_items / (kGrabsPerThread * cx_.pool.size()));
  cx_.pool.parallel_for(n_items, grain, [&](size_t begin, size_t end, size_t thread_i) {
    for (size_t i = begin; i < end; ++i) run_page(items[i], workspaces_[thread_i]);
  });
  cx_.pool.parallel_for(page_rows_.size(), 1, [&](size_t begin, size_t end, size_t thread_i) {
    for (size_t g = begin; g < end; ++g) fold_pages(page_rows_[g], workspaces_[thread_i]);
  });
}

}  // namespace

void run_attention(Context& cx, const AttentionJob& job) {
  Attention(cx, job).run();
}

}  // namespace maglio::detail

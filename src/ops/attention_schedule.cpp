#include "ops/attention_schedule.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "base/thread_pool.h"
#include "tensor/arena.h"

namespace maglio::detail {
namespace {

// Queries of a tile: enough to pay for expanding a page, few enough for the second-level cache.
constexpr size_t kTileQueries = 96;
// Up to so many queries of a kv head, pages are the unit of work.
constexpr size_t kPagesUpTo = 16;

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
  Partials page;
  Partials running;
  std::byte* kernel;
};

class Attention {
 public:
  Attention(Context& cx, const AttentionJob& job) : cx_(cx), job_(job) {}

  void run() {
    size_t most_queries = 0;
    for (size_t s = 0, row = 0; s < job_.streams.size(); row += job_.streams[s++].n_rows) {
      most_queries = std::max(most_queries, add_stream(s, row));
    }
    make_workspaces(most_queries);
    run_tiles();
    run_pages();
  }

 private:
  struct PageItem {
    size_t rows_i;  // in page_rows_
    size_t page;
    size_t query;  // where its partials begin
  };

  const AttentionStream& stream_of(const RowGroup& rows) const {
    return job_.streams[rows.stream_i];
  }
  const float* queries_of(const RowGroup& rows) const {
    const size_t row = rows.kv_head * job_.n_rows + rows.job_row + rows.first;
    return job_.queries + row * job_.group * job_.head_dim;
  }
  // The pages that some row of the group sees something of.
  KeyRange pages_of(const RowGroup& rows) const {
    const KeyRange first = visible_keys(job_.options, stream_of(rows), rows.first);
    const KeyRange last = visible_keys(job_.options, stream_of(rows), rows.first + rows.n - 1);
    return {first.begin / kPageKeys, (last.end + kPageKeys - 1) / kPageKeys};
  }

  size_t add_stream(size_t stream_i, size_t job_row);
  void make_workspaces(size_t most_queries);
  Partials make_partials(size_t n) const;
  void attend_page(const RowGroup& rows,
                   size_t page,
                   const PageRanges& ranges,
                   const Partials& to,
                   std::byte* scratch) const;
  void fold(const Partials& running, const Partials& page, size_t from, size_t to) const;
  void finish(const RowGroup& rows, const Partials& running) const;
  void run_tiles();
  void run_tile(const RowGroup& rows, const Workspace& w) const;
  void run_pages();
  void run_page(const PageItem& item, const Partials& partials, const Workspace& w) const;

  Context& cx_;
  const AttentionJob& job_;
  std::vector<RowGroup> tiles_;
  std::vector<RowGroup> page_rows_;  // per stream, kv heads ascending
  std::vector<Workspace> workspaces_;
};

// Decides the stream's shape of work; returns the queries that a thread handles at once.
size_t Attention::add_stream(size_t stream_i, size_t job_row) {
  const AttentionStream& stream = job_.streams[stream_i];
  assert(stream.position + stream.n_rows <= stream.n_keys);
  assert(stream.n_keys <= stream.keys_values.pages.size() * kPageKeys);
  if (stream.n_rows == 0) return 0;
  const bool by_pages = stream.n_rows * job_.group <= kPagesUpTo && stream.n_keys > kPageKeys;
  const size_t tile = by_pages ? stream.n_rows : std::max<size_t>(1, kTileQueries / job_.group);
  for (size_t h = 0; h < job_.n_kv_heads; ++h) {
    for (size_t first = 0; first < stream.n_rows; first += tile) {
      const size_t n = std::min(tile, stream.n_rows - first);
      (by_pages ? page_rows_ : tiles_).push_back({stream_i, job_row, first, n, h});
    }
  }
  return std::min(tile, stream.n_rows) * job_.group;
}

Partials Attention::make_partials(size_t n) const {
  return {cx_.arena.array<float>(n), cx_.arena.array<float>(n),
          cx_.arena.array<float>(n * job_.head_dim)};
}

void Attention::make_workspaces(size_t most_queries) {
  const AttentionKernels& kernels = *job_.streams.front().keys_values.kernels;
  for (size_t i = 0; i < cx_.pool.size(); ++i) {
    workspaces_.push_back(
        {cx_.arena.array<uint8_t>(most_queries), cx_.arena.array<uint8_t>(most_queries),
         make_partials(most_queries), make_partials(most_queries),
         cx_.arena.bytes(kernels.attend_scratch_bytes(most_queries, job_.head_dim))});
  }
}

// The partial results of the queries that see something, at their places in `to`.
void Attention::attend_page(const RowGroup& rows,
                            size_t page,
                            const PageRanges& ranges,
                            const Partials& to,
                            std::byte* scratch) const {
  const KvPages& pages = stream_of(rows).keys_values;
  const size_t first = ranges.first();
  pages.kernels->attend_page({.key_page = pages.key_page(page, rows.kv_head),
                              .value_page = pages.value_page(page, rows.kv_head),
                              .queries = queries_of(rows) + first * job_.head_dim,
                              .query_stride = job_.head_dim,
                              .n_queries = ranges.last() - first,
                              .head_dim = job_.head_dim,
                              .key_begin = ranges.begins() + first,
                              .key_end = ranges.ends() + first,
                              .maxima = to.maxima + first,
                              .sums = to.sums + first,
                              .outputs = to.outputs + first * job_.head_dim,
                              .scratch = scratch});
}

void Attention::fold(const Partials& running, const Partials& page, size_t from, size_t to) const {
  for (size_t i = from; i < to; ++i) {
    cx_.kernels.combine.combine(running.maxima + i, running.sums + i,
                                running.outputs + i * job_.head_dim, page.maxima[i], page.sums[i],
                                page.outputs + i * job_.head_dim, job_.head_dim);
  }
}

void clear(const Partials& running, size_t n, size_t head_dim) {
  std::fill_n(running.maxima, n, kMinusInfinity);
  std::fill_n(running.sums, n, 0.0f);
  std::fill_n(running.outputs, n * head_dim, 0.0f);
}

void Attention::finish(const RowGroup& rows, const Partials& running) const {
  const size_t n_heads = job_.n_kv_heads * job_.group;
  for (size_t i = 0; i < rows.n * job_.group; ++i) {
    const size_t row = rows.job_row + rows.first + i / job_.group;
    const size_t head = rows.kv_head * job_.group + i % job_.group;
    cx_.kernels.combine.finish(running.outputs + i * job_.head_dim, running.sums[i], job_.head_dim,
                               job_.out + (row * n_heads + head) * job_.head_dim);
  }
}

void Attention::run_tiles() {
  // The last tiles of a prompt see the most pages: they go first, so that no thread is left with
  // one at the end.
  std::ranges::stable_sort(tiles_, std::greater{}, [this](const RowGroup& rows) {
    const KeyRange pages = pages_of(rows);
    return (pages.end - pages.begin) * rows.n;
  });
  cx_.pool.parallel_for(tiles_.size(), 1, [&](size_t begin, size_t end, size_t thread_i) {
    for (size_t i = begin; i < end; ++i) run_tile(tiles_[i], workspaces_[thread_i]);
  });
}

void Attention::run_tile(const RowGroup& rows, const Workspace& w) const {
  const KeyRange pages = pages_of(rows);
  clear(w.running, rows.n * job_.group, job_.head_dim);
  PageRanges ranges(w.begins, w.ends);
  for (size_t page = pages.begin; page < pages.end; ++page) {
    if (!ranges.set(job_, rows, page)) continue;
    attend_page(rows, page, ranges, w.page, w.kernel);
    fold(w.running, w.page, ranges.first(), ranges.last());
  }
  finish(rows, w.running);
}

void Attention::run_page(const PageItem& item, const Partials& all, const Workspace& w) const {
  const RowGroup& rows = page_rows_[item.rows_i];
  PageRanges ranges(w.begins, w.ends);
  const Partials to{all.maxima + item.query, all.sums + item.query,
                    all.outputs + item.query * job_.head_dim};
  std::fill_n(to.sums, rows.n * job_.group, 0.0f);  // of queries that see nothing here
  if (ranges.set(job_, rows, item.page)) attend_page(rows, item.page, ranges, to, w.kernel);
}

void Attention::run_pages() {
  // Items in the order of memory: a stream's pages, in a page its kv heads.
  std::vector<PageItem> items;
  std::vector<size_t> first_item(page_rows_.size());  // of each group; then n_kv_heads apart
  size_t n_queries = 0;
  for (size_t g = 0; g < page_rows_.size(); g += job_.n_kv_heads) {
    const KeyRange pages = pages_of(page_rows_[g]);
    for (size_t h = 0; h < job_.n_kv_heads; ++h) first_item[g + h] = items.size() + h;
    for (size_t page = pages.begin; page < pages.end; ++page) {
      for (size_t h = 0; h < job_.n_kv_heads; ++h) {
        items.push_back({g + h, page, n_queries});
        n_queries += page_rows_[g + h].n * job_.group;
      }
    }
  }
  const Partials partials = make_partials(n_queries);
  constexpr size_t kGrabsPerThread = 8;
  const size_t grain = std::max<size_t>(1, items.size() / (kGrabsPerThread * cx_.pool.size()));
  cx_.pool.parallel_for(items.size(), grain, [&](size_t begin, size_t end, size_t thread_i) {
    for (size_t i = begin; i < end; ++i) run_page(items[i], partials, workspaces_[thread_i]);
  });
  cx_.pool.parallel_for(page_rows_.size(), 1, [&](size_t begin, size_t end, size_t thread_i) {
    for (size_t g = begin; g < end; ++g) {
      const RowGroup& rows = page_rows_[g];
      const Partials& running = workspaces_[thread_i].running;
      const size_t n = rows.n * job_.group;
      const KeyRange pages = pages_of(rows);
      clear(running, n, job_.head_dim);
      for (size_t p = 0; p < pages.end - pages.begin; ++p) {
        const size_t query = items[first_item[g] + p * job_.n_kv_heads].query;
        fold(running,
             {partials.maxima + query, partials.sums + query,
              partials.outputs + query * job_.head_dim},
             0, n);
      }
      finish(rows, running);
    }
  });
}

}  // namespace

void run_attention(Context& cx, const AttentionJob& job) {
  Attention(cx, job).run();
}

}  // namespace maglio::detail

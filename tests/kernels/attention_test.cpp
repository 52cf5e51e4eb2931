// Attention over one page, of every instruction set and page format, against plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/aligned_bytes.h"
#include "kernels/kernels.h"
#include "kernels/registry.h"
#include "kernels/tested_kernels.h"
#include "support/plain_attention.h"
#include "tensor/half.h"

namespace maglio {
namespace {

using Row = std::vector<float>;

Row random_row(size_t n, std::mt19937& rng) {
  std::normal_distribution<float> normal;
  Row row(n);
  for (float& x : row) x = normal(rng);
  return row;
}

enum class PageFormat { f32, f16, q8_0 };

const AttentionKernels& kernels_of(const Kernels& kernels, PageFormat format) {
  switch (format) {
    case PageFormat::f32:
      return kernels.attention_f32;
    case PageFormat::f16:
      return kernels.attention_f16;
    case PageFormat::q8_0:
      return kernels.attention_q8_0;
  }
  return kernels.attention_f16;
}

// One page of 64 random keys and values, all bytes that no row defines being NaN patterns.
struct Page {
  Page(const AttentionKernels& k, size_t dim, size_t n_keys, uint32_t seed)
      : kernels(k), head_dim(dim), keys(k.key_page_bytes(dim)), values(k.value_page_bytes(dim)) {
    std::memset(keys.data(), 0xff, keys.size());
    std::memset(values.data(), 0xff, values.size());
    std::mt19937 rng(seed);
    for (size_t slot = 0; slot < n_keys; ++slot) {
      k.store_keys(random_row(dim, rng).data(), dim, 1, dim, slot, keys.data());
      k.store_values(random_row(dim, rng).data(), dim, 1, dim, slot, values.data());
    }
  }
  Row key(size_t slot) const {
    Row row(head_dim);
    kernels.load_key(keys.data(), head_dim, slot, row.data());
    return row;
  }
  Row value(size_t slot) const {
    Row row(head_dim);
    kernels.load_value(values.data(), head_dim, slot, row.data());
    return row;
  }

  const AttentionKernels& kernels;
  size_t head_dim;
  AlignedBytes keys, values;
};

// Runs the kernel and folds its page alone, as attention over a sequence of up to 64 keys would.
std::vector<Row> attend_folded(const Kernels& kernels,
                               const Page& page,
                               const std::vector<Row>& scaled,
                               const std::vector<uint8_t>& begins,
                               const std::vector<uint8_t>& ends) {
  const size_t n = scaled.size(), dim = page.head_dim;
  Row flat, maxima(n), sums(n), outputs(n * dim);
  for (const Row& q : scaled) flat.insert(flat.end(), q.begin(), q.end());
  const AlignedBytes scratch(page.kernels.attend_scratch_bytes(n, dim));
  page.kernels.attend_page({.key_page = page.keys.data(),
                            .value_page = page.values.data(),
                            .queries = flat.data(),
                            .query_stride = dim,
                            .n_queries = n,
                            .head_dim = dim,
                            .key_begin = begins.data(),
                            .key_end = ends.data(),
                            .maxima = maxima.data(),
                            .sums = sums.data(),
                            .outputs = outputs.data(),
                            .scratch = scratch.data()});
  std::vector<Row> out;
  for (size_t i = 0; i < n; ++i) {
    if (begins[i] >= ends[i]) {
      EXPECT_EQ(maxima[i], -std::numeric_limits<float>::infinity());
      EXPECT_EQ(sums[i], 0.0f);
      out.emplace_back();
      continue;
    }
    float m = -std::numeric_limits<float>::infinity(), l = 0;
    Row o(dim, 0.0f), finished(dim);
    kernels.folding.fold({&maxima[i], &sums[i], &outputs[i * dim], 1, 1}, dim, &m, &l, o.data());
    kernels.folding.finish(o.data(), l, dim, finished.data());
    out.push_back(finished);
  }
  return out;
}

Row scaled(const Row& q) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.size()));
  Row r = q;
  for (float& x : r) x *= scale;
  return r;
}

// All instruction sets, formats, and query counts against the plain loops.
void check_shape(size_t head_dim, size_t n_queries, PageFormat format, uint32_t seed) {
  std::mt19937 rng(seed);
  std::vector<Row> queries, scaled_queries;
  std::vector<uint8_t> begins, ends;
  uint8_t most = 1;
  for (size_t i = 0; i < n_queries; ++i) {
    queries.push_back(random_row(head_dim, rng));
    scaled_queries.push_back(scaled(queries.back()));
    const auto begin = static_cast<uint8_t>(i % 3 == 0 ? 0 : rng() % 64);
    const auto end = static_cast<uint8_t>(i % 5 == 4 ? begin : begin + 1 + rng() % (64u - begin));
    begins.push_back(begin);
    ends.push_back(end);
    most = std::max(most, end);
  }
  for (const Kernels* kernels : test::tested_kernels()) {
    const Page page(kernels_of(*kernels, format), head_dim, most, seed);
    const std::vector<Row> out = attend_folded(*kernels, page, scaled_queries, begins, ends);
    for (size_t i = 0; i < n_queries; ++i) {
      if (begins[i] >= ends[i]) continue;
      const Row plain = test::plain_attention(
          queries[i], [&](size_t j) { return page.key(j); },
          [&](size_t j) { return page.value(j); }, begins[i], ends[i]);
      ASSERT_EQ(out[i], plain) << kernels->name << " head_dim " << head_dim << " query " << i
                               << " of " << n_queries << " keys " << int{begins[i]} << ".."
                               << int{ends[i]};
    }
  }
}

TEST(AttendPage, EqualsThePlainLoopsInEveryShape) {
  for (const PageFormat format : {PageFormat::f32, PageFormat::f16, PageFormat::q8_0}) {
    for (const size_t head_dim : {32, 64, 72, 80, 96, 128, 256}) {
      if (format == PageFormat::q8_0 && head_dim % 32 != 0) continue;
      // Around the tiles of every instruction set: 2, 6 and 12 queries.
      for (const size_t n : {1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 16, 25, 33}) {
        check_shape(head_dim, n, format, static_cast<uint32_t>(head_dim + n));
      }
    }
  }
}

// Queries over three pages, each seeing a range of keys that may leave out whole pages.
struct ThreePages {
  ThreePages(const Kernels& k, PageFormat format, size_t dim, size_t n_queries)
      : kernels(k), head_dim(dim), n(n_queries) {
    std::mt19937 rng(static_cast<uint32_t>(dim + n_queries));
    for (uint32_t page = 0; page < 3; ++page)
      pages.emplace_back(kernels_of(k, format), dim, 64, page);
    for (size_t i = 0; i < n; ++i) {
      queries.push_back(random_row(dim, rng));
      begins.push_back(i % 4 == 0 ? 0 : rng() % 192);
      ends.push_back(i % 4 == 1 ? 192 : begins.back() + 1 + rng() % (192 - begins.back()));
      const Row q = scaled(queries.back());
      flat.insert(flat.end(), q.begin(), q.end());
    }
    scratch = AlignedBytes(pages[0].kernels.attend_scratch_bytes(n, dim));
  }

  // The task of a page with its results at `to`: maxima [n], sums [n], outputs [n, head_dim].
  AttendPageTask task(size_t page, Row& to) {
    const auto in_page = [&](size_t key) {
      return static_cast<uint8_t>(std::clamp<size_t>(key, 64 * page, 64 * page + 64) - 64 * page);
    };
    page_begins.clear();
    page_ends.clear();
    for (size_t i = 0; i < n; ++i) {
      page_begins.push_back(in_page(begins[i]));
      page_ends.push_back(in_page(ends[i]));
    }
    return {.key_page = pages[page].keys.data(),
            .value_page = pages[page].values.data(),
            .queries = flat.data(),
            .query_stride = head_dim,
            .n_queries = n,
            .head_dim = head_dim,
            .key_begin = page_begins.data(),
            .key_end = page_ends.data(),
            .maxima = to.data(),
            .sums = to.data() + n,
            .outputs = to.data() + 2 * n,
            .scratch = scratch.data()};
  }
  Row cleared() const {
    Row running(n * (2 + head_dim), 0.0f);
    std::fill_n(running.begin(), n, -std::numeric_limits<float>::infinity());
    return running;
  }
  Row folded_at_once() {
    Row running = cleared();
    for (size_t page = 0; page < 3; ++page) pages[page].kernels.fold_page(task(page, running));
    return running;
  }
  Row folded_later() {
    const size_t page_size = n * (2 + head_dim);
    Row all, running = cleared();
    for (size_t page = 0; page < 3; ++page) {
      Row one(page_size);
      pages[page].kernels.attend_page(task(page, one));
      all.insert(all.end(), one.begin(), one.end());
    }
    // Partials lie page by page: maxima and sums need one layout, outputs another.
    Row maxima, sums, outputs;
    for (size_t page = 0; page < 3; ++page) {
      const auto at = all.begin() + static_cast<long>(page * page_size);
      const auto count = static_cast<long>(n);
      maxima.insert(maxima.end(), at, at + count);
      sums.insert(sums.end(), at + count, at + 2 * count);
      outputs.insert(outputs.end(), at + 2 * count, at + static_cast<long>(page_size));
    }
    for (size_t i = 0; i < n; ++i) {
      kernels.folding.fold({&maxima[i], &sums[i], &outputs[i * head_dim], n, 3}, head_dim,
                           &running[i], &running[n + i], &running[2 * n + i * head_dim]);
    }
    return running;
  }

  const Kernels& kernels;
  size_t head_dim, n;
  std::vector<Page> pages;
  std::vector<Row> queries;
  Row flat;
  std::vector<size_t> begins, ends;
  std::vector<uint8_t> page_begins, page_ends;
  AlignedBytes scratch;
};

TEST(FoldPage, GivesTheBitsOfAttendingFirstAndFoldingLater) {
  for (const Kernels* kernels : test::tested_kernels()) {
    for (const PageFormat format : {PageFormat::f32, PageFormat::f16, PageFormat::q8_0}) {
      for (const size_t head_dim : {64, 96, 72}) {
        if (format == PageFormat::q8_0 && head_dim % 32 != 0) continue;
        for (const size_t n : {1, 2, 5, 6, 13, 40}) {
          ThreePages three(*kernels, format, head_dim, n);
          const Row at_once = three.folded_at_once();
          ASSERT_EQ(at_once, three.folded_later()) << kernels->name << ' ' << head_dim << ' ' << n;
          for (size_t i = 0; i < n; ++i) {
            const auto key = [&](size_t j) { return three.pages[j / 64].key(j % 64); };
            const auto value = [&](size_t j) { return three.pages[j / 64].value(j % 64); };
            Row out(head_dim);
            kernels->folding.finish(&at_once[2 * n + i * head_dim], at_once[n + i], head_dim,
                                    out.data());
            ASSERT_EQ(out, test::plain_attention(three.queries[i], key, value, three.begins[i],
                                                 three.ends[i]))
                << kernels->name << " query " << i << " of " << n;
          }
        }
      }
    }
  }
}

// Folding works through many pages in groups; no group's edge may show.
TEST(Fold, TakesAnyNumberOfPages) {
  std::mt19937 rng(5);
  for (const Kernels* kernels : test::tested_kernels()) {
    for (const size_t n_pages : {1, 15, 16, 17, 63, 64, 65, 130}) {
      const Row maxima = random_row(n_pages, rng), outputs = random_row(n_pages * 32, rng);
      Row sums(n_pages, 1.5f);
      if (n_pages > 15) sums[3] = 0;
      float m = -std::numeric_limits<float>::infinity(), l = 0, one_m = m, one_l = 0;
      Row o(32, 0.0f), one_o(32, 0.0f);
      kernels->folding.fold({maxima.data(), sums.data(), outputs.data(), 1, n_pages}, 32, &m, &l,
                            o.data());
      for (size_t k = 0; k < n_pages; ++k) {
        kernels->folding.fold({&maxima[k], &sums[k], &outputs[32 * k], 1, 1}, 32, &one_m, &one_l,
                              one_o.data());
      }
      EXPECT_EQ(m, one_m);
      EXPECT_EQ(l, one_l);
      EXPECT_EQ(o, one_o) << kernels->name << ' ' << n_pages;
    }
  }
}

TEST(AttendPage, ASingleKeyGivesItsValueExactly) {
  for (const Kernels* kernels : test::tested_kernels()) {
    for (const PageFormat format : {PageFormat::f16, PageFormat::q8_0}) {
      const Page page(kernels_of(*kernels, format), 64, 64, 5);
      std::mt19937 rng(6);
      const Row q = scaled(random_row(64, rng));
      const Row out = attend_folded(*kernels, page, {q}, {17}, {18}).front();
      EXPECT_EQ(out, page.value(17)) << kernels->name;
    }
  }
}

// Keys along q whose products with it start at 1e5 and fall by `step` a slot.
void check_large_scores(const Kernels& kernels, float step, double tolerance) {
  constexpr size_t kDim = 64;
  Page page(kernels.attention_f16, kDim, 64, 8);
  std::mt19937 rng(9);
  const Row q = random_row(kDim, rng);
  float norm = 0;
  for (const float x : q) norm += x * x;
  for (size_t slot = 0; slot < 64; ++slot) {
    Row key = q;
    for (float& x : key) x *= (1e5f - step * static_cast<float>(slot)) / norm;
    page.kernels.store_keys(key.data(), kDim, 1, kDim, slot, page.keys.data());
  }
  const Row out = attend_folded(kernels, page, {scaled(q)}, {0}, {64}).front();
  const std::vector<double> exact = test::exact_attention(
      q, [&](size_t j) { return page.key(j); }, [&](size_t j) { return page.value(j); }, 0, 64);
  for (size_t c = 0; c < kDim; ++c) {
    ASSERT_TRUE(std::isfinite(out[c]));
    EXPECT_NEAR(out[c], exact[c], tolerance) << kernels.name << ' ' << step;
  }
}

// The maximum is subtracted before exp, so products of 1e5 overflow nothing.
TEST(AttendPage, LargeScoresStayFiniteAndExact) {
  for (const Kernels* kernels : test::tested_kernels()) {
    check_large_scores(*kernels, 1500.0f, 1e-3);
    // Close together, at 12,500 after scaling: an ulp of a score is 1e-3 there.
    check_large_scores(*kernels, 4.0f, 4e-3);
  }
}

TEST(AttendPage, ANaNAmongVisibleKeysIsNotHidden) {
  for (const Kernels* kernels : test::tested_kernels()) {
    const Page page(kernels->attention_f16, 64, 10, 3);  // slots 10 and on are NaN
    std::mt19937 rng(4);
    const Row q = scaled(random_row(64, rng));
    const Row bad = attend_folded(*kernels, page, {q}, {0}, {11}).front();
    const Row good = attend_folded(*kernels, page, {q}, {0}, {10}).front();
    for (const float x : bad) EXPECT_TRUE(std::isnan(x)) << kernels->name;
    for (const float x : good) EXPECT_FALSE(std::isnan(x)) << kernels->name;
  }
}

TEST(CachePages, RoundRowsThroughTheirType) {
  std::mt19937 rng(12);
  for (const Kernels* kernels : test::tested_kernels()) {
    for (const size_t dim : {64, 80, 128}) {
      const Row row = random_row(dim, rng);
      for (const PageFormat format : {PageFormat::f32, PageFormat::f16, PageFormat::q8_0}) {
        if (format == PageFormat::q8_0 && dim % 32 != 0) continue;
        Page page(kernels_of(*kernels, format), dim, 64, 2);
        const Row before = page.key(62);
        page.kernels.store_keys(row.data(), dim, 1, dim, 63, page.keys.data());
        page.kernels.store_values(row.data(), dim, 1, dim, 63, page.values.data());
        EXPECT_EQ(page.key(63), page.value(63)) << kernels->name;
        EXPECT_EQ(page.key(62), before);
        if (format == PageFormat::f32) {
          EXPECT_EQ(page.key(63), row);
        }
        if (format == PageFormat::f16) {
          Row rounded = row;
          for (float& x : rounded) x = to_float(to_half(x));
          EXPECT_EQ(page.key(63), rounded);
        }
        if (format != PageFormat::q8_0) continue;
        for (size_t b = 0; b < dim; b += 32) {
          float highest = 0;
          for (size_t c = b; c < b + 32; ++c) highest = std::max(highest, std::abs(row[c]));
          const float d = highest / 127.0f, stored = to_float(to_half(d));
          for (size_t c = b; c < b + 32; ++c) {
            EXPECT_EQ(page.key(63)[c], stored * std::round(row[c] * (1.0f / d))) << kernels->name;
          }
        }
      }
    }
  }
}

// Runs of rows are stored eight at a time where they can be; slots before and behind stay.
TEST(CachePages, ManyRowsAtOnceAreStoredAsOneByOne) {
  std::mt19937 rng(13);
  for (const Kernels* kernels : available_kernels()) {
    for (const PageFormat format : {PageFormat::f32, PageFormat::f16, PageFormat::q8_0}) {
      for (const size_t dim : {64, 72, 128}) {
        if (format == PageFormat::q8_0 && dim % 32 != 0) continue;
        const size_t stride = dim + 24;
        const Row rows = random_row(64 * stride, rng);
        for (const size_t slot : {0, 1, 7, 8, 24, 33, 63}) {
          for (const size_t n : {1, 7, 8, 9, 17, 31, 64}) {
            if (slot + n > 64) continue;
            Page one_by_one(kernels_of(*kernels, format), dim, 64, 2);
            Page at_once(kernels_of(*kernels, format), dim, 64, 2);
            const AttentionKernels& k = at_once.kernels;
            k.store_keys(rows.data(), stride, n, dim, slot, at_once.keys.data());
            k.store_values(rows.data(), stride, n, dim, slot, at_once.values.data());
            for (size_t i = 0; i < n; ++i) {
              const float* row = rows.data() + i * stride;
              k.store_keys(row, stride, 1, dim, slot + i, one_by_one.keys.data());
              k.store_values(row, stride, 1, dim, slot + i, one_by_one.values.data());
            }
            EXPECT_EQ(
                0, std::memcmp(at_once.keys.data(), one_by_one.keys.data(), at_once.keys.size()));
            EXPECT_EQ(0, std::memcmp(at_once.values.data(), one_by_one.values.data(),
                                     at_once.values.size()))
                << kernels->name << ' ' << dim << " slot " << slot << " rows " << n;
          }
        }
      }
    }
  }
}

TEST(CachePages, Q8_0OfZerosAndTinyNumbersIsZero) {
  for (const Kernels* kernels : test::tested_kernels()) {
    Page page(kernels->attention_q8_0, 64, 1, 2);
    for (const float x : {0.0f, 1e-38f, -1e-44f}) {
      const Row row(64, x);
      page.kernels.store_keys(row.data(), 64, 1, 64, 0, page.keys.data());
      for (const float y : page.key(0)) EXPECT_EQ(y, 0.0f);
    }
  }
}

TEST(CachePages, HaveTheBytesOfTheirFormat) {
  for (const Kernels* kernels : test::tested_kernels()) {
    EXPECT_EQ(kernels->attention_f16.key_page_bytes(128), 64u * 256);
    EXPECT_EQ(kernels->attention_f16.value_page_bytes(128), 64u * 256);
    EXPECT_EQ(kernels->attention_q8_0.key_page_bytes(128), 64u * 4 * 34);
    EXPECT_EQ(kernels->attention_q8_0.value_page_bytes(128), 64u * 4 * 34);
    EXPECT_EQ(kernels->attention_f16.value_page_bytes(80), 64u * 96 * 2);  // padded
  }
}

}  // namespace
}  // namespace maglio

#include "ops/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/registry.h"
#include "model/kv_cache.h"
#include "support/plain_attention.h"

namespace maglio {
namespace {

using Row = std::vector<float>;

Row random_numbers(size_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<float> uniform(-2, 2);
  Row row(n);
  for (float& x : row) x = uniform(rng);
  return row;
}

struct Heads {
  size_t n_heads, n_kv_heads, head_dim;
};

// Random queries, keys and values of a sequence of n tokens.
struct Sequence {
  Sequence(Heads h, size_t n_tokens, uint32_t seed)
      : heads(h),
        n(n_tokens),
        q(random_numbers(n * h.n_heads * h.head_dim, seed)),
        k(random_numbers(n * h.n_kv_heads * h.head_dim, seed + 1)),
        v(random_numbers(n * h.n_kv_heads * h.head_dim, seed + 2)) {}

  Tensor<const float, Seq, Head, Dim> queries() const {
    return {q.data(), {n, heads.n_heads, heads.head_dim}};
  }
  Tensor<const float, Seq, KvHead, Dim> keys() const {
    return {k.data(), {n, heads.n_kv_heads, heads.head_dim}};
  }
  Tensor<const float, Seq, KvHead, Dim> values() const {
    return {v.data(), {n, heads.n_kv_heads, heads.head_dim}};
  }
  KvCache cache(CacheType type, const Kernels& kernels = active_kernels()) const {
    ThreadPool pool(1);
    KvCache c({2, heads.n_kv_heads, heads.head_dim}, type, n, kernels);
    for (const size_t layer : {0, 1}) c.append_layer(pool, layer, keys(), values());
    c.advance(n);
    return c;
  }

  Heads heads;
  size_t n;
  Row q, k, v;
};

struct Bench {
  explicit Bench(size_t n_threads, const Kernels& kernels = active_kernels())
      : pool(n_threads), cx{pool, arena, kernels}, scope(arena) {}
  ThreadPool pool;
  Arena arena;
  Context cx;
  Arena::Scope scope;
};

Row row_of(Tensor<float, Seq, Head, Dim> out, size_t row, size_t head) {
  const auto span = out.select<Seq>(row).select<Head>(head).span();
  return {span.begin(), span.end()};
}

Row flat(Tensor<float, Seq, Head, Dim> out) {
  return {out.data(), out.data() + out.extent<Seq>() * out.extent<Head>() * out.extent<Dim>()};
}

// What head `head` of the token at `position` must get from a layer of the cache.
Row expected(const Sequence& s, const KvPages& pages, size_t position, size_t head, size_t window) {
  const size_t kv_head = head / (s.heads.n_heads / s.heads.n_kv_heads);
  const size_t end = position + 1;
  const size_t begin = window == 0 || window > end ? 0 : end - window;
  return test::plain_attention(
      s.queries().select<Seq>(position).select<Head>(head).span(),
      [&](size_t j) { return pages.key(j, kv_head); },
      [&](size_t j) { return pages.value(j, kv_head); }, begin, end);
}

TEST(Attend, EqualsThePlainLoopsForEveryHeadRatio) {
  for (const Heads heads :
       {Heads{4, 2, 32}, Heads{9, 3, 64}, Heads{16, 8, 32}, Heads{64, 4, 32}, Heads{2, 2, 80},
        Heads{14, 2, 64}, Heads{16, 8, 128}, Heads{8, 1, 256}, Heads{9, 3, 96}}) {
    const Sequence s(heads, 130, 1);
    for (const CacheType type : {CacheType::f16, CacheType::q8_0}) {
      if (type == CacheType::q8_0 && heads.head_dim % 32 != 0) continue;
      const KvCache cache = s.cache(type);
      Bench bench(2);
      const auto out = attend(bench.cx, s.queries(), cache.pages(1), s.n);
      for (const size_t position : {0, 1, 15, 63, 64, 65, 127, 128, 129}) {
        for (size_t head = 0; head < heads.n_heads; ++head) {
          ASSERT_EQ(row_of(out, position, head), expected(s, cache.pages(1), position, head, 0))
              << heads.n_heads << ':' << heads.n_kv_heads << " position " << position << " head "
              << head;
        }
      }
    }
  }
}

TEST(Attend, ReadsTheKvHeadOfItsGroup) {
  // One position; each kv head's value tells its number. Heads 0, 1 -> 0; 2, 3 -> 1.
  Sequence s({4, 2, 32}, 1, 1);
  for (size_t i = 0; i < s.v.size(); ++i) s.v[i] = static_cast<float>(i / 32);
  const KvCache cache = s.cache(CacheType::f16);
  Bench bench(1);
  const auto out = attend(bench.cx, s.queries(), cache.pages(0), 1);
  EXPECT_EQ(row_of(out, 0, 0), Row(32, 0.0f));
  EXPECT_EQ(row_of(out, 0, 1), Row(32, 0.0f));
  EXPECT_EQ(row_of(out, 0, 2), Row(32, 1.0f));
  EXPECT_EQ(row_of(out, 0, 3), Row(32, 1.0f));
}

TEST(Attend, OverASingleCachedPositionReturnsV) {
  const Sequence s({6, 3, 64}, 1, 4);
  for (const CacheType type : {CacheType::f16, CacheType::q8_0}) {
    const KvCache cache = s.cache(type);
    Bench bench(1);
    const auto out = attend(bench.cx, s.queries(), cache.pages(0), 1);
    for (size_t head = 0; head < 6; ++head) {
      EXPECT_EQ(row_of(out, 0, head), cache.pages(0).value(0, head / 2));
    }
  }
  Bench bench(1);  // and without a cache the value itself
  const auto out = attend(bench.cx, s.queries(), s.keys(), s.values());
  EXPECT_EQ(row_of(out, 0, 5), Row(s.v.end() - 64, s.v.end()));
}

// The last token alone, some tokens, and all at once; every count of threads; every instruction
// set; over one page edge, two, and long sequences.
TEST(Attend, ARowHasTheSameBitsInAnySpanOnAnyThreadCount) {
  for (const Heads heads : {Heads{9, 3, 32}, Heads{8, 1, 64}}) {
    for (const size_t n : {64, 65, 140}) {
      const Sequence s(heads, n, static_cast<uint32_t>(n));
      for (const CacheType type : {CacheType::f16, CacheType::q8_0}) {
        Row all;
        for (const Kernels* kernels : available_kernels()) {
          const KvCache cache = s.cache(type, *kernels);
          for (const size_t n_threads : {1, 2, 3, 5, 8}) {
            if (kernels == &kernels_scalar && n_threads % 2 == 0) continue;  // it is slow
            Bench bench(n_threads, *kernels);
            const Row now = flat(attend(bench.cx, s.queries(), cache.pages(0), n));
            if (all.empty()) all = now;
            ASSERT_EQ(now, all) << kernels->name << ' ' << n_threads << " threads, " << n;
            const size_t row_size = heads.n_heads * heads.head_dim;
            for (const size_t rows : {1, 2, 7, 13}) {
              for (const size_t first : {size_t{0}, n / 2, n - rows}) {
                const Row part = flat(attend(bench.cx, s.queries().narrow<Seq>(first, rows),
                                             cache.pages(0), first + rows));
                ASSERT_TRUE(std::equal(part.begin(), part.end(),
                                       all.begin() + static_cast<long>(first * row_size)))
                    << kernels->name << ' ' << n_threads << " threads, rows " << first << '+'
                    << rows << " of " << n;
              }
            }
          }
        }
      }
    }
  }
}

TEST(Attend, CrossesManyPages) {
  const Sequence s({4, 2, 32}, 4097, 3);
  const KvCache cache = s.cache(CacheType::f16);
  for (const size_t n_threads : {1, 3}) {
    Bench bench(n_threads);
    const auto out = attend(bench.cx, s.queries().narrow<Seq>(4000, 97), cache.pages(0), 4097);
    for (const size_t position : {4000, 4031, 4032, 4095, 4096}) {
      const auto one =
          attend(bench.cx, s.queries().narrow<Seq>(position, 1), cache.pages(0), position + 1);
      for (size_t head = 0; head < 4; ++head) {
        const Row plain = expected(s, cache.pages(0), position, head, 0);
        ASSERT_EQ(row_of(out, position - 4000, head), plain) << position;
        ASSERT_EQ(row_of(one, 0, head), plain) << position;
      }
    }
  }
}

TEST(Attend, AWindowOfWShowsExactlyTheLastWPositions) {
  const Sequence s({4, 2, 32}, 200, 5);
  const KvCache cache = s.cache(CacheType::f16);
  for (const size_t window : {1, 4, 63, 64, 65, 150, 200, 5000}) {
    for (const size_t n_threads : {1, 3}) {
      Bench bench(n_threads);
      const auto out = attend(bench.cx, s.queries(), cache.pages(0), s.n, {.window = window});
      for (const size_t position : {0, 3, 4, 9, 63, 64, 127, 128, 199}) {
        const auto one = attend(bench.cx, s.queries().narrow<Seq>(position, 1), cache.pages(0),
                                position + 1, {.window = window});
        for (const size_t head : {0, 3}) {
          const Row plain = expected(s, cache.pages(0), position, head, window);
          ASSERT_EQ(row_of(out, position, head), plain) << window << ' ' << position;
          ASSERT_EQ(row_of(one, 0, head), plain) << window << ' ' << position;
        }
      }
    }
  }
}

TEST(Attend, WindowOfFourOverTenTokensByHand) {
  // All keys equal, so every visible position has the same weight; values are one-hot.
  Sequence s({1, 1, 32}, 10, 6);
  std::fill(s.k.begin(), s.k.end(), 1.0f);
  std::fill(s.v.begin(), s.v.end(), 0.0f);
  for (size_t j = 0; j < 10; ++j) s.v[j * 32 + j] = 1;
  Bench bench(1);
  const auto out = attend(bench.cx, s.queries(), s.keys(), s.values(), {.window = 4});
  for (size_t i = 0; i < 10; ++i) {
    for (size_t j = 0; j < 10; ++j) {
      const bool seen = j <= i && j + 4 > i;
      EXPECT_EQ(out(i, 0, j), seen ? 1.0f / static_cast<float>(std::min<size_t>(i + 1, 4)) : 0.0f)
          << i << ' ' << j;
    }
  }
}

TEST(Attend, BidirectionalRowsSeeEveryKey) {
  const Sequence s({4, 2, 32}, 100, 7);
  const KvCache cache = s.cache(CacheType::f16);
  Bench bench(2);
  const auto out =
      attend(bench.cx, s.queries(), cache.pages(0), s.n, {.mask = AttentionMask::bidirectional});
  for (const size_t position : {0, 50, 99}) {
    const Row plain = test::plain_attention(
        s.queries().select<Seq>(position).select<Head>(3).span(),
        [&](size_t j) { return cache.pages(0).key(j, 1); },
        [&](size_t j) { return cache.pages(0).value(j, 1); }, 0, 100);
    EXPECT_EQ(row_of(out, position, 3), plain);
  }
}

TEST(Attend, ABatchGivesEachStreamWhatItGetsAlone) {
  const Heads heads{6, 2, 64};
  // A long decode, a prompt, a decode within one page, a span that ends in mid-sequence.
  const std::vector<Sequence> sequences = {Sequence(heads, 400, 10), Sequence(heads, 90, 20),
                                           Sequence(heads, 30, 30), Sequence(heads, 200, 40)};
  const std::vector<size_t> n_rows = {1, 90, 1, 3}, positions = {399, 0, 29, 100};
  for (const CacheType type : {CacheType::f16, CacheType::q8_0}) {
    std::vector<KvCache> caches;
    for (const Sequence& s : sequences) caches.push_back(s.cache(type));
    for (const size_t n_threads : {1, 2, 5}) {
      Bench bench(n_threads);
      std::vector<AttentionStream> streams;
      Row q, alone;
      for (size_t i = 0; i < sequences.size(); ++i) {
        const Sequence& s = sequences[i];
        streams.push_back({caches[i].pages(0), s.n, positions[i], n_rows[i]});
        const auto rows = s.queries().narrow<Seq>(positions[i], n_rows[i]);
        q.insert(q.end(), rows.data(), rows.data() + n_rows[i] * 6 * 64);
        for (const float x :
             flat(attend(bench.cx, rows, caches[i].pages(0), positions[i] + n_rows[i]))) {
          alone.push_back(x);
        }
      }
      const Tensor<const float, Seq, Head, Dim> all(q.data(), {95, 6, 64});
      EXPECT_EQ(flat(attend(bench.cx, all, streams)), alone) << n_threads;
    }
  }
}

TEST(Attend, WithoutACacheRoundsNothing) {
  const Sequence s({4, 2, 72}, 150, 8);
  Bench bench(2);
  const auto out = attend(bench.cx, s.queries(), s.keys(), s.values());
  for (const size_t position : {0, 63, 64, 149}) {
    for (size_t head = 0; head < 4; ++head) {
      const auto row = [&](Tensor<const float, Seq, KvHead, Dim> x, size_t j) {
        const auto span = x.select<Seq>(j).select<KvHead>(head / 2).span();
        return Row(span.begin(), span.end());
      };
      const Row plain = test::plain_attention(
          s.queries().select<Seq>(position).select<Head>(head).span(),
          [&](size_t j) { return row(s.keys(), j); }, [&](size_t j) { return row(s.values(), j); },
          0, position + 1);
      ASSERT_EQ(row_of(out, position, head), plain);
      const std::vector<double> exact = test::exact_attention(
          s.queries().select<Seq>(position).select<Head>(head).span(),
          [&](size_t j) { return row(s.keys(), j); }, [&](size_t j) { return row(s.values(), j); },
          0, position + 1);
      for (size_t c = 0; c < 72; ++c) EXPECT_NEAR(plain[c], exact[c], 2e-6);
    }
  }
}

}  // namespace
}  // namespace maglio

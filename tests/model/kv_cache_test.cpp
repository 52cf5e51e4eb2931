#include "model/kv_cache.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/registry.h"
#include "maglio/error.h"

namespace maglio {
namespace {

constexpr KvShape kShape{.n_layers = 3, .n_kv_heads = 2, .head_dim = 32};
constexpr KvShape kQwen3_0_6b{.n_layers = 28, .n_kv_heads = 8, .head_dim = 128};

std::string code_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_FALSE(e.message().empty());
    return std::string(to_string(e.kind())) + " " + e.code();
  }
  return "";
}

// Writes known rows: what is at a position is a function of a stamp, so that a test can tell whose
// row it reads.
class Writer {
 public:
  static std::vector<float> row(
      int stamp, size_t position, size_t layer, size_t head, bool is_key) {
    std::vector<float> r(kShape.head_dim);
    for (size_t c = 0; c < r.size(); ++c) {
      // Small integers: exact in f16. For q8_0 a test compares what two caches hold.
      r[c] = static_cast<float>((c + 3 * position + 7 * layer + 11 * head) % 50) +
             static_cast<float>(stamp) * 64 + (is_key ? 0.0f : 1024.0f);
    }
    return r;
  }

  // Appends n positions to every layer, in layers of their own order, and advances.
  void append(KvCache& cache, size_t n, int stamp, bool advance = true) {
    const KvShape& s = kShape;
    for (size_t layer = 0; layer < s.n_layers; ++layer) {
      std::vector<float> k, v;
      for (size_t i = 0; i < n; ++i) {
        for (size_t h = 0; h < s.n_kv_heads; ++h) {
          const size_t at = cache.length() + i;
          for (const float x : row(stamp, at, layer, h, true)) k.push_back(x);
          for (const float x : row(stamp, at, layer, h, false)) v.push_back(x);
        }
      }
      const std::array<size_t, 3> extents{n, s.n_kv_heads, s.head_dim};
      cache.append_layer(pool_, layer, Tensor<const float, Seq, KvHead, Dim>(k.data(), extents),
                         Tensor<const float, Seq, KvHead, Dim>(v.data(), extents));
    }
    if (advance) cache.advance(n);
  }

 private:
  ThreadPool pool_{3};
};

void expect_rows(const KvCache& cache, size_t from, size_t to, int stamp) {
  for (size_t layer = 0; layer < kShape.n_layers; ++layer) {
    const KvPages pages = cache.pages(layer);
    for (size_t p = from; p < to; ++p) {
      for (size_t h = 0; h < kShape.n_kv_heads; ++h) {
        ASSERT_EQ(pages.key(p, h), Writer::row(stamp, p, layer, h, true)) << p << ' ' << layer;
        ASSERT_EQ(pages.value(p, h), Writer::row(stamp, p, layer, h, false)) << p << ' ' << layer;
      }
    }
  }
}

KvCache f16_cache(size_t capacity, KvPool pool = KvPool()) {
  return KvCache(kShape, CacheType::f16, capacity, active_kernels(), std::move(pool));
}

TEST(KvCache, TakesTheChaptersBytesAPosition) {
  const KvCache f16(kQwen3_0_6b, CacheType::f16, 4096, active_kernels());
  const KvCache q8_0(kQwen3_0_6b, CacheType::q8_0, 4096, active_kernels());
  EXPECT_EQ(f16.bytes_per_position(), 114688u);
  EXPECT_EQ(q8_0.bytes_per_position(), 60928u);
  EXPECT_EQ(f16.bytes_per_position() * f16.capacity(), size_t{448} << 20);
  EXPECT_EQ(f16.bytes(), 0u);  // granted as the sequence grows
}

TEST(KvCache, EveryLayerAppendsAtOneBaseAndTheCacheAdvancesOnce) {
  Writer writer;
  KvCache cache = f16_cache(200);
  writer.append(cache, 60, 1, false);
  EXPECT_EQ(cache.length(), 0u);
  expect_rows(cache, 0, 60, 1);  // visible to attention before the step is over
  writer.append(cache, 60, 2);   // again at the same base
  EXPECT_EQ(cache.length(), 60u);
  expect_rows(cache, 0, 60, 2);
  writer.append(cache, 1, 3);
  writer.append(cache, 70, 4);  // over two page edges
  EXPECT_EQ(cache.length(), 131u);
  expect_rows(cache, 0, 60, 2);
  expect_rows(cache, 60, 61, 3);
  expect_rows(cache, 61, 131, 4);
}

TEST(KvCache, GrowsBlockByBlock) {
  Writer writer;
  KvPool pool;
  KvCache cache = f16_cache(1000, pool);
  const size_t block = 64 * cache.bytes_per_position();
  writer.append(cache, 1, 1);
  EXPECT_EQ(pool.used_bytes(), block);
  writer.append(cache, 63, 1);
  EXPECT_EQ(pool.used_bytes(), block);
  writer.append(cache, 1, 1);
  EXPECT_EQ(pool.used_bytes(), 2 * block);
  EXPECT_EQ(cache.bytes(), 2 * block);
  { const KvCache gone = std::move(cache); }
  EXPECT_EQ(pool.used_bytes(), 0u);
}

TEST(KvCache, TruncateForgetsTheEndAndNothingElse) {
  for (const size_t keep : {0, 1, 63, 64, 65, 100}) {
    Writer writer;
    KvCache cache = f16_cache(200);
    writer.append(cache, 130, 1);
    cache.truncate(keep);
    EXPECT_EQ(cache.length(), keep);
    expect_rows(cache, 0, keep, 1);
    writer.append(cache, 50, 2);
    EXPECT_EQ(cache.length(), keep + 50);
    expect_rows(cache, 0, keep, 1);
    expect_rows(cache, keep, keep + 50, 2);
  }
}

TEST(KvCache, TruncateBeyondTheLengthDoesNothing) {
  Writer writer;
  KvCache cache = f16_cache(200);
  writer.append(cache, 10, 1);
  cache.truncate(10);
  cache.truncate(11);
  cache.truncate(100000);
  EXPECT_EQ(cache.length(), 10u);
  expect_rows(cache, 0, 10, 1);
}

TEST(KvCache, ResetStartsAnew) {
  Writer writer;
  KvCache cache = f16_cache(100);
  writer.append(cache, 90, 1);
  cache.reset();
  EXPECT_EQ(cache.length(), 0u);
  writer.append(cache, 100, 2);
  expect_rows(cache, 0, 100, 2);
}

TEST(KvCache, AFullCacheRefusesAndTheNextStepStillWorks) {
  Writer writer;
  KvCache cache = f16_cache(70);
  writer.append(cache, 66, 1);
  EXPECT_EQ(code_of([&] { cache.reserve(5); }), "context_full KvCacheOverflow");
  EXPECT_EQ(code_of([&] { writer.append(cache, 5, 2); }), "context_full KvCacheOverflow");
  EXPECT_EQ(code_of([&] { cache.reserve(static_cast<size_t>(-1)); }),
            "context_full KvCacheOverflow");
  EXPECT_EQ(cache.length(), 66u);
  expect_rows(cache, 0, 66, 1);
  writer.append(cache, 4, 3);
  expect_rows(cache, 66, 70, 3);
  EXPECT_EQ(code_of([&] { cache.reserve(1); }), "context_full KvCacheOverflow");
}

TEST(KvCache, AnExhaustedPoolRefusesAndGivesBackWhatItHadGranted) {
  Writer writer;
  const size_t block = 64 * f16_cache(64).bytes_per_position();
  KvPool pool(3 * block);
  KvCache a = f16_cache(1000, pool), b = f16_cache(1000, pool);
  writer.append(a, 100, 1);
  EXPECT_EQ(code_of([&] { b.reserve(65); }), "context_full KvPoolExhausted");
  EXPECT_EQ(pool.used_bytes(), 2 * block);
  EXPECT_EQ(b.length(), 0u);
  writer.append(b, 64, 2);  // one block is left
  expect_rows(b, 0, 64, 2);
  expect_rows(a, 0, 100, 1);
}

TEST(KvCache, Q8_0NeedsHeadsOfWholeBlocks) {
  for (const size_t head_dim : {16, 48, 80}) {
    const auto make = [&] { KvCache({1, 1, head_dim}, CacheType::q8_0, 10, active_kernels()); };
    EXPECT_EQ(code_of(make), "unsupported KvCacheHeadDimNotBlockAligned");
    KvCache({1, 1, head_dim}, CacheType::f16, 10, active_kernels());  // any head_dim
  }
  KvCache({1, 1, 96}, CacheType::q8_0, 10, active_kernels());
}

TEST(KvCacheFork, SharesThePastAndAddsWhatItWrites) {
  Writer writer;
  KvPool pool;
  KvCache a = f16_cache(1000, pool);
  writer.append(a, 130, 1);  // three blocks, the last with two positions
  const size_t block = 64 * a.bytes_per_position();
  KvCache b = a.fork();
  EXPECT_EQ(b.length(), 130u);
  EXPECT_EQ(pool.used_bytes(), 3 * block);
  writer.append(b, 5, 2);  // copies the last block
  EXPECT_EQ(pool.used_bytes(), 4 * block);
  writer.append(a, 7, 3);  // now its own
  EXPECT_EQ(pool.used_bytes(), 4 * block);
  expect_rows(a, 0, 130, 1);
  expect_rows(a, 130, 137, 3);
  expect_rows(b, 0, 130, 1);
  expect_rows(b, 130, 135, 2);
}

TEST(KvCacheFork, TruncatedOnASharedPageLeavesTheOtherAlone) {
  Writer writer;
  KvCache a = f16_cache(1000);
  writer.append(a, 130, 1);
  KvCache b = a.fork();
  b.truncate(70);  // in the middle of a shared page
  writer.append(b, 100, 2);
  expect_rows(a, 0, 130, 1);
  expect_rows(b, 0, 70, 1);
  expect_rows(b, 70, 170, 2);
  a.truncate(3);
  writer.append(a, 10, 3);
  expect_rows(b, 0, 70, 1);
  expect_rows(b, 70, 170, 2);
  expect_rows(a, 0, 3, 1);
  expect_rows(a, 3, 13, 3);
}

TEST(KvCacheFork, TakesOnlyThePagesOfItsLength) {
  Writer writer;
  KvPool pool;
  KvCache a = f16_cache(1000, pool);
  writer.append(a, 200, 1);
  a.truncate(64);
  const KvCache b = a.fork();
  EXPECT_EQ(b.bytes(), 64 * a.bytes_per_position());
}

TEST(KvCacheFork, ManyForksOfOnePrefixOutliveIt) {
  Writer writer;
  std::vector<KvCache> forks;
  {
    KvCache prefix = f16_cache(1000);
    writer.append(prefix, 100, 1);
    for (int i = 0; i < 4; ++i) forks.push_back(prefix.fork());
  }
  for (int i = 0; i < 4; ++i) writer.append(forks[static_cast<size_t>(i)], 40, 2 + i);
  for (int i = 0; i < 4; ++i) {
    expect_rows(forks[static_cast<size_t>(i)], 0, 100, 1);
    expect_rows(forks[static_cast<size_t>(i)], 100, 140, 2 + i);
  }
}

TEST(KvCacheFork, RefusedForLackOfMemoryLeavesBothAsTheyWere) {
  Writer writer;
  const size_t block = 64 * f16_cache(64).bytes_per_position();
  KvPool pool(block);
  KvCache a = f16_cache(1000, pool);
  writer.append(a, 10, 1);
  KvCache b = a.fork();
  EXPECT_EQ(code_of([&] { writer.append(b, 1, 2); }), "context_full KvPoolExhausted");
  expect_rows(a, 0, 10, 1);
  expect_rows(b, 0, 10, 1);
  EXPECT_EQ(b.length(), 10u);
}

TEST(KvCache, TruncateAndReplayGivesTheSameRowsInBothTypes) {
  Writer writer;
  for (const CacheType type : {CacheType::f16, CacheType::q8_0}) {
    KvCache straight(kShape, type, 200, active_kernels());
    KvCache replayed(kShape, type, 200, active_kernels());
    writer.append(straight, 150, 1);
    writer.append(replayed, 80, 1);
    writer.append(replayed, 60, 2);
    replayed.truncate(77);
    KvCache fork = replayed.fork();
    for (KvCache* cache : {&replayed, &fork}) {
      writer.append(*cache, 1, 1);
      writer.append(*cache, 72, 1);
      for (size_t p = 0; p < 150; ++p) {
        for (size_t layer = 0; layer < kShape.n_layers; ++layer) {
          ASSERT_EQ(cache->pages(layer).key(p, 1), straight.pages(layer).key(p, 1)) << p;
          ASSERT_EQ(cache->pages(layer).value(p, 1), straight.pages(layer).value(p, 1)) << p;
        }
      }
    }
  }
}

}  // namespace
}  // namespace maglio

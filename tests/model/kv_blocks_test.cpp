// Blocks of a cache as bytes, and back.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/registry.h"
#include "maglio/error.h"
#include "model/kv_cache.h"
#include "support/random_blocks.h"

namespace maglio {
namespace {

constexpr KvShape kShape{.n_layers = 2, .n_kv_heads = 3, .head_dim = 64};
constexpr CacheType kTypes[] = {CacheType::f16, CacheType::q8_0};

using Bytes = std::vector<std::byte>;
using Blocks = std::vector<Bytes>;

KvCache new_cache(CacheType type, size_t capacity = 300, KvPool pool = KvPool()) {
  return KvCache(kShape, type, capacity, active_kernels(), pool);
}

// Appends n positions of random rows.
void append(KvCache& cache, size_t n, uint64_t seed) {
  static ThreadPool threads(2);
  test::Dice dice(seed);
  std::vector<float> rows(n * kShape.n_kv_heads * kShape.head_dim);
  const std::array<size_t, 3> extents{n, kShape.n_kv_heads, kShape.head_dim};
  for (size_t layer = 0; layer < kShape.n_layers; ++layer) {
    for (float& x : rows) x = static_cast<float>(static_cast<int>(dice.bits() % 2001) - 1000) / 64;
    const Tensor<const float, Seq, KvHead, Dim> tensor(rows.data(), extents);
    cache.append_layer(threads, layer, tensor, tensor);
  }
  cache.advance(n);
}

Blocks blocks_of(const KvCache& cache) {
  Blocks blocks(cache.n_blocks(), Bytes(cache.block_bytes()));
  for (size_t i = 0; i < blocks.size(); ++i) cache.copy_block(i, blocks[i]);
  return blocks;
}

void restore(KvCache& cache, const Blocks& blocks, size_t length) {
  const std::vector<std::span<const std::byte>> views(blocks.begin(), blocks.end());
  cache.restore(views, length);
}

TEST(KvBlocks, RestoredOnesHoldTheSameBits) {
  for (const CacheType type : kTypes) {
    for (const size_t n : {0, 1, 63, 64, 65, 200}) {
      KvCache cache = new_cache(type);
      append(cache, n, n);
      KvCache other = new_cache(type);
      append(other, 150, 99);
      restore(other, blocks_of(cache), n);
      ASSERT_EQ(other.length(), n);
      EXPECT_EQ(blocks_of(other), blocks_of(cache));
      for (size_t p = 0; p < n; ++p) {
        ASSERT_EQ(other.pages(1).key(p, 2), cache.pages(1).key(p, 2));
        ASSERT_EQ(other.pages(1).value(p, 2), cache.pages(1).value(p, 2));
      }
      append(cache, 70, 5);
      append(other, 70, 5);
      EXPECT_EQ(blocks_of(other), blocks_of(cache));
    }
  }
}

// Nothing of what memory held before, or of what was forgotten, gets into a file.
TEST(KvBlocks, RowsBeyondTheLengthAreZero) {
  for (const CacheType type : kTypes) {
    KvCache fresh = new_cache(type), used = new_cache(type);
    append(fresh, 70, 1);
    append(used, 70, 1);
    append(used, 100, 2);
    used.truncate(70);
    EXPECT_EQ(blocks_of(used), blocks_of(fresh));
    KvCache one = new_cache(type), zeros = new_cache(type);
    append(one, 1, 1);
    Bytes block(one.block_bytes(), std::byte{0xff});
    one.copy_block(0, block);
    EXPECT_GT(std::ranges::count(block, std::byte{0}), static_cast<long>(block.size() * 62 / 64));
  }
}

TEST(KvBlocks, RefusedWhereThereIsNoRoomAndNothingHasChanged) {
  KvCache cache = new_cache(CacheType::f16);
  append(cache, 130, 1);
  const Blocks blocks = blocks_of(cache);
  KvCache small = new_cache(CacheType::f16, 129);
  append(small, 10, 2);
  EXPECT_THROW(restore(small, blocks, 130), Error);
  KvCache poor = new_cache(CacheType::f16, 300, KvPool(3 * cache.block_bytes()));
  append(poor, 10, 2);
  EXPECT_THROW(restore(poor, blocks, 130), Error);
  KvCache expected = new_cache(CacheType::f16);
  append(expected, 10, 2);
  for (const KvCache* refused : {&small, &poor}) {
    EXPECT_EQ(refused->length(), 10u);
    EXPECT_EQ(blocks_of(*refused), blocks_of(expected));
  }
  EXPECT_EQ(poor.family_bytes(), cache.block_bytes());
}

TEST(KvBlocks, FamilyCountsSharedBlocksOnce) {
  KvCache cache = new_cache(CacheType::f16);
  append(cache, 130, 1);
  KvCache fork = cache.fork();
  EXPECT_EQ(cache.family_bytes(), 3 * cache.block_bytes());
  append(fork, 1, 2);
  EXPECT_EQ(cache.family_bytes(), 4 * cache.block_bytes());
}

}  // namespace
}  // namespace maglio

#include "model/kv_pool.h"

#include <gtest/gtest.h>

#include "support/error_code.h"

namespace maglio {
namespace {

TEST(KvPool, MemoryOfABlockGivenBackIsGrantedAgain) {
  KvPool pool;
  auto block = pool.grant(1 << 20);
  const std::byte* const place = block->data();
  block.reset();
  EXPECT_EQ(pool.used_bytes(), 0u);
  EXPECT_EQ(pool.spare_bytes(), size_t{1} << 20);
  block = pool.grant(1 << 20);
  EXPECT_EQ(block->data(), place);
  EXPECT_EQ(pool.spare_bytes(), 0u);
}

TEST(KvPool, ABlockIsGivenBackWithItsLastReference) {
  KvPool pool;
  auto block = pool.grant(4096);
  auto shared = block;
  block.reset();
  EXPECT_EQ(pool.used_bytes(), 4096u);
  shared.reset();
  EXPECT_EQ(pool.used_bytes(), 0u);
}

TEST(KvPool, UsedAndSpareTogetherStayWithinTheBudget) {
  KvPool pool(3000);
  auto small = pool.grant(1000), kept = pool.grant(1000);
  small.reset();
  EXPECT_EQ(pool.spare_bytes(), 1000u);
  const auto large = pool.grant(2000);  // takes the room of the spare one, of another size
  EXPECT_EQ(large->size(), 2000u);
  EXPECT_EQ(pool.spare_bytes(), 0u);
  EXPECT_EQ(pool.used_bytes(), 3000u);
  EXPECT_EQ(test::code_of([&] { pool.grant(1); }), "KvPoolExhausted");
  EXPECT_EQ(pool.used_bytes(), 3000u);
}

TEST(KvPool, BlocksOutliveThePoolsLastHandle) {
  std::shared_ptr<KvPool::Block> block;
  {
    KvPool pool;
    block = pool.grant(4096);
  }
  block->data()[4095] = std::byte{1};
  block.reset();
}

}  // namespace
}  // namespace maglio

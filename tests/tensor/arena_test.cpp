#include "tensor/arena.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace maglio {
namespace {

bool aligned(const void* p) {
  return reinterpret_cast<uintptr_t>(p) % kCacheLine == 0;
}

TEST(Arena, EverythingStartsAtACacheLine) {
  Arena arena;
  const Arena::Scope scope(arena);
  for (const size_t n : {1, 63, 64, 65, 0, 4097}) EXPECT_TRUE(aligned(arena.bytes(n))) << n;
}

TEST(Arena, AScopeGivesBackWhatItTook) {
  Arena arena;
  const Arena::Scope outer(arena);
  std::byte* const kept = arena.bytes(100);
  std::byte* first = nullptr;
  {
    const Arena::Scope inner(arena);
    first = arena.bytes(1000);
  }
  const Arena::Scope inner(arena);
  EXPECT_EQ(arena.bytes(10), first);
  EXPECT_NE(kept, first);
}

TEST(Arena, GrowthDoesNotMoveWhatIsAlive) {
  Arena arena;
  const Arena::Scope scope(arena);
  const auto x = arena.tensor<Seq, Embed>({2, 3});
  x(1, 2) = 42.0f;
  for (int i = 0; i < 10; ++i) arena.bytes(size_t{3} << 20);
  EXPECT_EQ(x(1, 2), 42.0f);
}

TEST(Arena, ARepeatedStepAllocatesNothing) {
  Arena arena;
  const auto step = [&arena] {
    const Arena::Scope scope(arena);
    for (int layer = 0; layer < 4; ++layer) {
      const Arena::Scope temporaries(arena);
      for (int i = 0; i < 5; ++i) arena.bytes(700'000);
    }
  };
  step();
  step();  // joins the blocks that the first one left
  const size_t capacity = arena.capacity();
  for (int i = 0; i < 3; ++i) step();
  EXPECT_EQ(arena.capacity(), capacity);
}

}  // namespace
}  // namespace maglio

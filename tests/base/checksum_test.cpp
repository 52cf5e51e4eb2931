#include "base/checksum.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "support/random_blocks.h"

namespace maglio {
namespace {

std::vector<std::byte> some_bytes(size_t n) {
  test::Dice dice(3);
  std::vector<std::byte> bytes(n);
  for (std::byte& b : bytes) b = static_cast<std::byte>(dice.bits());
  return bytes;
}

TEST(Checksum, NoticesEveryBit) {
  for (const size_t n : {1, 7, 8, 63, 64, 65, 130, 200}) {
    std::vector<std::byte> bytes = some_bytes(n);
    const uint64_t before = checksum(bytes);
    for (size_t bit = 0; bit < 8 * n; ++bit) {
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
      EXPECT_NE(checksum(bytes), before) << n << " bytes, bit " << bit;
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    }
    EXPECT_EQ(checksum(bytes), before);
  }
}

// Two flips of the same bit, 64 bytes apart: in a lane without rotation the top bits would cancel.
TEST(Checksum, NoticesPairsOfBits) {
  std::vector<std::byte> bytes = some_bytes(512);
  const uint64_t before = checksum(bytes);
  for (size_t bit = 0; bit < 8 * (512 - 64); ++bit) {
    for (const size_t other : {bit, bit + 512}) bytes[other / 8] ^= std::byte{1} << (other % 8);
    EXPECT_NE(checksum(bytes), before) << bit;
    for (const size_t other : {bit, bit + 512}) bytes[other / 8] ^= std::byte{1} << (other % 8);
  }
}

TEST(Checksum, CountsZerosAndOrder) {
  std::set<uint64_t> sums;
  const std::vector<std::byte> zeros(300);
  for (size_t n = 0; n <= zeros.size(); ++n) sums.insert(checksum(std::span(zeros).first(n)));
  EXPECT_EQ(sums.size(), 301u);
  const std::vector<std::byte> a = some_bytes(64), b(64, std::byte{7});
  EXPECT_NE(checksum(a, checksum(b)), checksum(b, checksum(a)));
}

}  // namespace
}  // namespace maglio

#include "base/bytes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "maglio/error.h"

namespace maglio {
namespace {

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int v : values) bytes.push_back(static_cast<std::byte>(v));
  return bytes;
}

TEST(CheckedArithmetic, GivesNothingWhereSixtyFourBitsOverflow) {
  EXPECT_EQ(checked_add(kMax - 1, 1), kMax);
  EXPECT_EQ(checked_add(kMax, 1), std::nullopt);
  EXPECT_EQ(checked_mul(uint64_t{1} << 32, uint64_t{1} << 31), uint64_t{1} << 63);
  EXPECT_EQ(checked_mul(uint64_t{1} << 32, uint64_t{1} << 32), std::nullopt);
  EXPECT_EQ(checked_mul(kMax, 0), 0u);
}

TEST(CheckedArithmetic, AlignRoundsUpToTheNextMultiple) {
  EXPECT_EQ(checked_align(0, 32), 0u);
  EXPECT_EQ(checked_align(1, 32), 32u);
  EXPECT_EQ(checked_align(32, 32), 32u);
  EXPECT_EQ(checked_align(33, 32), 64u);
  EXPECT_EQ(checked_align(kMax - 31, 32), kMax - 31);
  EXPECT_EQ(checked_align(kMax - 30, 32), std::nullopt);
}

TEST(ByteReader, ReadsLittleEndianNumbersAtAnyAddress) {
  const auto bytes = bytes_of({0xff, 0x01, 0x02, 0x03, 0x04, 0x00, 0x00, 0x80, 0x3f, 0xfe, 0xff});
  ByteReader reader(bytes, "test");
  EXPECT_EQ(reader.read<int8_t>(), -1);
  EXPECT_EQ(reader.read<uint32_t>(), 0x04030201u);
  EXPECT_EQ(reader.read<float>(), 1.0f);
  EXPECT_EQ(reader.position(), 9u);
  EXPECT_EQ(reader.read<int16_t>(), -2);
  EXPECT_EQ(reader.remaining(), 0u);
  EXPECT_EQ(reader.take(0).size(), 0u);
}

TEST(ByteReader, RefusesMoreThanIsLeftAndSaysWhere) {
  const auto bytes = bytes_of({1, 2, 3, 4, 5});
  ByteReader reader(bytes, "model.gguf");
  reader.take(2);
  reader.describe("metadata key", "a\nb");
  for (const uint64_t n : {uint64_t{4}, uint64_t{1} << 32, kMax}) {
    try {
      reader.take(n);
      FAIL() << n;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_file);
      EXPECT_EQ(error.code(), "Truncated");
      EXPECT_EQ(error.message(),
                "model.gguf: metadata key 'a\\nb': the file is truncated or damaged: " +
                    std::to_string(n) + " bytes expected at offset 2, 3 are left");
    }
  }
  EXPECT_THROW(reader.read<uint32_t>(), Error);
  EXPECT_EQ(reader.take(3).size(), 3u);  // a refusal moves nothing
}

}  // namespace
}  // namespace maglio

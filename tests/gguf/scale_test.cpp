// Large headers stay fast: the time of a header is n log n whatever its names are.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/reader.h"
#include "maglio/error.h"
#include "support/cpu_seconds.h"
#include "support/gguf_builder.h"
#include "support/temp_dir.h"

namespace maglio {
namespace {

using test::Bytes;
using test::cpu_seconds;
using test::GgufBuilder;

// A header of n keys and n tensors, written by hand because the builder keeps each apart.
// The names count up, down by `stride`, behind a common prefix.
Bytes large_header(size_t n, size_t stride, std::string_view prefix) {
  Bytes out;
  for (const char c : gguf::kMagic) test::append_number(out, c);
  test::append_number(out, uint32_t{3});
  test::append_number(out, uint64_t{n});
  test::append_number(out, uint64_t{n});
  for (size_t i = 0; i < n; ++i) {
    test::append_string(out, fmt::format("{}{}", prefix, i * stride % n));
    test::append_number(out, static_cast<uint32_t>(gguf::ValueType::u8));
    test::append_number(out, static_cast<uint8_t>(i));
  }
  for (size_t i = 0; i < n; ++i) {
    test::append_string(out, fmt::format("{}{}", prefix, i * stride % n));
    test::append_number(out, uint32_t{1});
    test::append_number(out, uint64_t{0});  // no values: any number of them share one place
    test::append_number(out, uint32_t{0});
    test::append_number(out, uint64_t{0});
  }
  return out;
}

TEST(GgufScale, AMillionKeysAndTensorsAreReadInSeconds) {
  constexpr size_t kMillion = 1'000'000;
  const Bytes bytes = large_header(kMillion, 7919, "k");
  const double start = cpu_seconds();
  const gguf::File file = gguf::File::parse(bytes);
  const double seconds = cpu_seconds() - start;
  RecordProperty("cpu_seconds", std::to_string(seconds));
  EXPECT_LT(seconds, 10.0);  // about 1 s unsanitized; a quadratic check takes hours
  EXPECT_EQ(file.tensors().size(), kMillion);
  EXPECT_EQ(file.metadata().uint("k7919"), 1u);
  EXPECT_NE(file.find("k999999"), nullptr);
  EXPECT_EQ(file.find("k1000000"), nullptr);
}

TEST(GgufScale, CommonPrefixesDoNotMakeItQuadratic) {
  const Bytes bytes = large_header(100'000, 1, std::string(50, 'p'));
  const double start = cpu_seconds();
  gguf::File::parse(bytes);
  EXPECT_LT(cpu_seconds() - start, 2.0);
}

TEST(GgufScale, TwinAmongManyKeysIsFound) {
  constexpr size_t kMany = 100'000;
  Bytes bytes = large_header(kMany, 7919, "k");
  // The key that comes last, k92081, becomes the twin of one in the middle.
  const std::string twin = "k12345";
  const size_t at = as_text(bytes).find("k92081");
  ASSERT_NE(at, std::string_view::npos);
  for (size_t i = 0; i < twin.size(); ++i) bytes[at + i] = static_cast<std::byte>(twin[i]);
  try {
    gguf::File::parse(bytes);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "DuplicateMetadataKey");
    EXPECT_NE(error.message().find("'k12345' appears twice"), std::string::npos);
  }
}

TEST(GgufScale, AHoleFullOfEmptyStringsIsRefused) {
  // 4 GiB of zeros, as an array of strings, in a file that takes one block of the disk.
  const test::TempDir folder;
  constexpr uint64_t kHole = uint64_t{4} << 30;
  Bytes value;
  test::append_number(value, static_cast<uint32_t>(gguf::ValueType::string));
  test::append_number(value, kHole / 8);
  GgufBuilder().raw("k", static_cast<uint32_t>(gguf::ValueType::array), value).write(folder / "m");
  std::filesystem::resize_file(folder / "m", kHole + 1000);
  const double start = cpu_seconds();
  try {
    gguf::File::open(folder / "m");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_EQ(error.code(), "TooManyStrings");
    EXPECT_NE(error.message().find("'k': expected at most 16777216 strings, found 536870912"),
              std::string::npos)
        << error.message();
  }
  EXPECT_LT(cpu_seconds() - start, 5.0);
}

TEST(GgufScale, VocabularyArrayIsViewedInPlace) {
  std::vector<std::string> tokens;
  for (size_t i = 0; i < 151'936; ++i) tokens.push_back(fmt::format("token{}", i));
  const Bytes bytes = GgufBuilder().strings("tokenizer.ggml.tokens", tokens).bytes();
  const gguf::File file = gguf::File::parse(bytes);
  const gguf::StringArray views = file.metadata().strings("tokenizer.ggml.tokens").value();
  ASSERT_EQ(views.size(), tokens.size());
  const auto* begin = reinterpret_cast<const char*>(bytes.data());
  for (size_t i = 0; i < views.size(); ++i) {
    ASSERT_EQ(views[i], tokens[i]);
    ASSERT_TRUE(views[i].data() > begin && views[i].data() < begin + bytes.size());
  }
}

}  // namespace
}  // namespace maglio

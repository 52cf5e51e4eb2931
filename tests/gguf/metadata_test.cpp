#include "gguf/metadata.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/reader.h"
#include "maglio/error.h"
#include "support/hostile_gguf.h"

namespace maglio {
namespace {

// sample_gguf() as read; holds the bytes that the metadata views.
class GgufMetadata : public testing::Test {
 protected:
  const test::Bytes bytes_ = test::sample_gguf().bytes();
  const gguf::File file_ = gguf::File::parse(bytes_, "sample.gguf");
  const gguf::Metadata& metadata_ = file_.metadata();
};

// Calls getter; it must throw WrongMetadataType with that message.
template <class F>
void expect_wrong_type(F&& getter, std::string_view message) {
  try {
    getter();
    ADD_FAILURE() << "accepted; expected: " << message;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_file);
    EXPECT_EQ(error.code(), "WrongMetadataType");
    EXPECT_EQ(error.message(), message);
  }
}

TEST_F(GgufMetadata, AbsentKeyIsNothingWhateverIsAsked) {
  EXPECT_EQ(metadata_.find("absent"), nullptr);
  EXPECT_EQ(metadata_.uint("absent"), std::nullopt);
  EXPECT_EQ(metadata_.integer("absent"), std::nullopt);
  EXPECT_EQ(metadata_.number("absent"), std::nullopt);
  EXPECT_EQ(metadata_.boolean("absent"), std::nullopt);
  EXPECT_EQ(metadata_.string("absent"), std::nullopt);
  EXPECT_EQ(metadata_.strings("absent"), std::nullopt);
  EXPECT_EQ(metadata_.floats("absent"), std::nullopt);
  EXPECT_EQ(metadata_.ints("absent"), std::nullopt);
  EXPECT_EQ(metadata_.uints("absent"), std::nullopt);
}

TEST_F(GgufMetadata, IntegersOfEveryWidthAreIntegersAndNumbers) {
  EXPECT_EQ(metadata_.uint("sample.u8"), 200u);
  EXPECT_EQ(metadata_.uint("sample.u16"), 60000u);
  EXPECT_EQ(metadata_.uint("sample.u32"), 4000000000u);
  EXPECT_EQ(metadata_.uint("sample.u64"), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(metadata_.integer("sample.i8"), -100);
  EXPECT_EQ(metadata_.integer("sample.i16"), -30000);
  EXPECT_EQ(metadata_.integer("sample.i32"), -2000000000);
  EXPECT_EQ(metadata_.integer("sample.i64"), -(int64_t{1} << 62));
  EXPECT_EQ(metadata_.integer("sample.u32"), 4000000000);
  EXPECT_EQ(metadata_.number("sample.i8"), -100.0);
  EXPECT_EQ(metadata_.number("sample.u32"), 4e9);
}

TEST_F(GgufMetadata, FloatsBoolsAndTextsAreGivenAsStored) {
  EXPECT_EQ(metadata_.number("sample.f32"), 0.5);
  EXPECT_EQ(metadata_.number("sample.f64"), 1e-300);
  EXPECT_EQ(metadata_.boolean("sample.true"), true);
  EXPECT_EQ(metadata_.boolean("sample.false"), false);
  EXPECT_EQ(metadata_.string("general.architecture"), "qwen3");
}

TEST_F(GgufMetadata, ArraysOfEveryTypeAreGiven) {
  using namespace std::literals;
  constexpr int32_t kMin32 = std::numeric_limits<int32_t>::min();
  constexpr int32_t kMax32 = std::numeric_limits<int32_t>::max();
  constexpr uint64_t kMax64 = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(metadata_.strings("sample.strings"), (gguf::StringArray{"a", "", "bc", "\0\xff"sv}));
  EXPECT_EQ(metadata_.strings("sample.no_strings"), gguf::StringArray{});
  EXPECT_EQ(metadata_.ints("sample.u8s"), (std::vector<int32_t>{0, 255}));
  EXPECT_EQ(metadata_.ints("sample.i8s"), (std::vector<int32_t>{-128, 127}));
  EXPECT_EQ(metadata_.ints("sample.u16s"), (std::vector<int32_t>{0, 65535}));
  EXPECT_EQ(metadata_.ints("sample.i16s"), (std::vector<int32_t>{-32768, 32767}));
  EXPECT_EQ(metadata_.uints("sample.u32s"), (std::vector<uint64_t>{0, 4294967295}));
  EXPECT_EQ(metadata_.ints("sample.i32s"), (std::vector<int32_t>{kMin32, kMax32}));
  EXPECT_EQ(metadata_.uints("sample.u64s"), (std::vector<uint64_t>{0, kMax64}));
  EXPECT_EQ(metadata_.ints("sample.i64s"), (std::vector<int32_t>{-1, 1}));
  EXPECT_EQ(metadata_.floats("sample.f32s"), (std::vector<float>{-0.0f, 1.5f, 3.25f}));
  EXPECT_EQ(metadata_.find("sample.f64s")->at<double>(0), 1e300);
  EXPECT_EQ(metadata_.find("sample.bools")->at<uint8_t>(1), 0);
  EXPECT_EQ(metadata_.find("sample.bools")->count, 3u);
}

TEST_F(GgufMetadata, FirstStringsOfAnArrayAreGivenAlone) {
  const gguf::Value& value = *metadata_.find("sample.strings");
  EXPECT_EQ(gguf::string_elements(value, 2), (gguf::StringArray{"a", ""}));
  EXPECT_EQ(gguf::string_elements(value).size(), 4u);
}

TEST_F(GgufMetadata, OneIntegerAloneCountsAsUints) {
  EXPECT_EQ(metadata_.uints("sample.u32"), std::vector<uint64_t>{4000000000});
}

TEST_F(GgufMetadata, EmptyArrayIsTakenAsAnyArray) {
  EXPECT_EQ(metadata_.ints("sample.no_strings"), std::vector<int32_t>{});
  EXPECT_EQ(metadata_.uints("sample.no_strings"), std::vector<uint64_t>{});
  EXPECT_EQ(metadata_.floats("sample.no_strings"), std::vector<float>{});
}

TEST_F(GgufMetadata, WrongTypeNamesTheKeyWhatWasExpectedAndWhatWasFound) {
  const std::string file = "sample.gguf: metadata key ";
  expect_wrong_type([&] { metadata_.uint("sample.f32"); },
                    file + "'sample.f32': expected an integer ≥ 0, found f32");
  expect_wrong_type([&] { metadata_.uint("sample.true"); },
                    file + "'sample.true': expected an integer ≥ 0, found bool");
  expect_wrong_type([&] { metadata_.uint("sample.u32s"); },
                    file + "'sample.u32s': expected an integer ≥ 0, found array of 2 u32");
  expect_wrong_type([&] { metadata_.integer("general.architecture"); },
                    file + "'general.architecture': expected an integer, found string");
  expect_wrong_type([&] { metadata_.number("sample.strings"); },
                    file + "'sample.strings': expected a number, found array of 4 string");
  expect_wrong_type([&] { metadata_.number("sample.true"); },
                    file + "'sample.true': expected a number, found bool");
  expect_wrong_type([&] { metadata_.boolean("sample.u8"); },
                    file + "'sample.u8': expected a bool, found u8");
  expect_wrong_type([&] { metadata_.string("sample.u8"); },
                    file + "'sample.u8': expected a string, found u8");
  expect_wrong_type([&] { metadata_.strings("general.architecture"); },
                    file + "'general.architecture': expected an array of strings, found string");
  expect_wrong_type([&] { metadata_.strings("sample.u8s"); },
                    file + "'sample.u8s': expected an array of strings, found array of 2 u8");
  expect_wrong_type([&] { metadata_.floats("sample.f64s"); },
                    file + "'sample.f64s': expected an array of f32, found array of 1 f64");
  expect_wrong_type([&] { metadata_.floats("sample.f32"); },
                    file + "'sample.f32': expected an array of f32, found f32");
  expect_wrong_type([&] { metadata_.ints("sample.f32s"); },
                    file + "'sample.f32s': expected integers of 32 bits, found array of 3 f32");
  expect_wrong_type([&] { metadata_.uints("sample.bools"); },
                    file + "'sample.bools': expected an integer ≥ 0, found array of 3 bool");
}

TEST_F(GgufMetadata, ValueThatDoesNotFitIsRefusedNotCut) {
  const std::string file = "sample.gguf: metadata key ";
  expect_wrong_type([&] { metadata_.uint("sample.i8"); },
                    file + "'sample.i8': expected an integer ≥ 0, found -100");
  expect_wrong_type([&] { metadata_.integer("sample.u64"); },
                    file + "'sample.u64': expected an integer, found 18446744073709551615");
  expect_wrong_type([&] { metadata_.ints("sample.u32s"); },
                    file + "'sample.u32s': expected integers of 32 bits, found 4294967295");
  expect_wrong_type([&] { metadata_.uints("sample.i64s"); },
                    file + "'sample.i64s': expected an integer ≥ 0, found -1");
}

TEST_F(GgufMetadata, EntriesKeepTheOrderOfTheFile) {
  ASSERT_GE(metadata_.entries().size(), 3u);
  EXPECT_EQ(metadata_.entries()[0].key, "general.architecture");
  EXPECT_EQ(metadata_.entries()[1].key, "sample.u8");
  EXPECT_EQ(describe(metadata_.entries()[1].value), "u8");
}

}  // namespace
}  // namespace maglio

#include "support/hostile_gguf.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace maglio::test {
namespace {

constexpr uint32_t kArray = 9;
constexpr uint32_t kString = 8;

// A file of one key with that type number and those bytes behind it.
Bytes one_key(std::string_view key, uint32_t type_id, const Bytes& value) {
  return GgufBuilder().raw(key, type_id, value).bytes();
}

template <class... T>
Bytes numbers(T... values) {
  Bytes out;
  (append_number(out, values), ...);
  return out;
}

GgufBuilder one_tensor(DType dtype, const std::vector<uint64_t>& dims, size_t n_bytes) {
  return GgufBuilder().tensor("t", dtype, dims, Bytes(n_bytes));
}

// Two f32 tensors of 32 bytes each.
GgufBuilder two_tensors() {
  return GgufBuilder()
      .tensor("first", DType::F32, {8}, Bytes(32))
      .tensor("second", DType::F32, {8}, Bytes(32));
}

Bytes with_magic(std::string_view magic) {
  Bytes bytes = sample_gguf().bytes();
  for (size_t i = 0; i < magic.size(); ++i) bytes[i] = static_cast<std::byte>(magic[i]);
  return bytes;
}

class Collection {
 public:
  void bad(std::string name, Bytes bytes, std::string code, std::string says) {
    files_.push_back(
        {std::move(name), std::move(bytes), ErrorKind::bad_file, std::move(code), std::move(says)});
  }
  void unsupported(std::string name, Bytes bytes, std::string code, std::string says) {
    files_.push_back({std::move(name), std::move(bytes), ErrorKind::unsupported, std::move(code),
                      std::move(says)});
  }
  std::vector<HostileFile> take() { return std::move(files_); }

 private:
  std::vector<HostileFile> files_;
};

void add_preambles(Collection& c) {
  c.bad("Empty", {}, "Truncated", "truncated");
  c.bad("MagicOfAnotherFormat", with_magic("ggjt"), "InvalidMagic", "found 'ggjt'");
  c.bad("MagicReversed", with_magic("FUGG"), "InvalidMagic", "found 'FUGG'");
  c.bad("MagicUnprintable", with_magic("\x7f\x01\n'"), "InvalidMagic", "\\x7f\\x01\\n\\'");
  c.unsupported("Version0", sample_gguf().version(0).bytes(), "UnsupportedVersion", "version 0");
  c.unsupported("Version1", sample_gguf().version(1).bytes(), "UnsupportedVersion",
                "version 1 is no longer read; convert");
  c.unsupported("Version4", sample_gguf().version(4).bytes(), "UnsupportedVersion",
                "version 4 is unknown; expected 2 or 3");
  c.unsupported("VersionHuge", sample_gguf().version(0xffffffff).bytes(), "UnsupportedVersion",
                "4294967295");
  c.unsupported("BigEndianVersion2", sample_gguf().version(0x02000000).bytes(), "WrongByteOrder",
                "other byte order");
  c.unsupported("BigEndianVersion3", sample_gguf().version(0x03000000).bytes(), "WrongByteOrder",
                "other byte order");
}

void add_counts(Collection& c) {
  const std::pair<const char*, uint64_t> counts[] = {
      {"32Bit", 0xffffffff},        {"33Bit", uint64_t{1} << 32}, {"60Bit", uint64_t{1} << 60},
      {"61Bit", uint64_t{1} << 61}, {"63Bit", uint64_t{1} << 63}, {"64Bit", ~uint64_t{0}},
  };
  for (const auto& [name, n] : counts) {
    c.bad(fmt::format("NumberOfKeys{}", name), sample_gguf().claim_n_keys(n).bytes(), "Truncated",
          fmt::format("number of metadata keys: the file is truncated or damaged: {} claimed", n));
    c.bad(fmt::format("NumberOfTensors{}", name), sample_gguf().claim_n_tensors(n).bytes(),
          "Truncated",
          fmt::format("number of tensors: the file is truncated or damaged: {} claimed", n));
    c.bad(
        fmt::format("KeyLength{}", name),
        [&] {
          Bytes bytes = GgufBuilder().u32("key", 1).bytes();
          const Bytes length = numbers(n);
          std::copy(length.begin(), length.end(), bytes.begin() + 24);
          return bytes;
        }(),
        "Truncated", fmt::format("{} bytes expected at offset 32", n));
    c.bad(fmt::format("StringLength{}", name), one_key("k", kString, numbers(n)), "Truncated",
          "metadata key 'k'");
    c.bad(fmt::format("ArrayOfU64Length{}", name), one_key("k", kArray, numbers(uint32_t{10}, n)),
          "Truncated", "metadata key 'k'");
    c.bad(fmt::format("ArrayOfU8Length{}", name), one_key("k", kArray, numbers(uint32_t{0}, n)),
          "Truncated", "metadata key 'k'");
    c.bad(fmt::format("ArrayOfBoolLength{}", name), one_key("k", kArray, numbers(uint32_t{7}, n)),
          "Truncated", "metadata key 'k'");
    c.bad(fmt::format("ArrayOfStringLength{}", name),
          one_key("k", kArray, numbers(uint32_t{8}, n, uint64_t{0}, uint64_t{0})), "Truncated",
          "metadata key 'k'");
    c.bad(fmt::format("ArrayStringElementLength{}", name),
          one_key("k", kArray, numbers(uint32_t{8}, uint64_t{2}, uint64_t{0}, n)), "Truncated",
          "metadata key 'k'");
  }
  c.bad("OneKeyTooMany", GgufBuilder().u32("k", 1).claim_n_keys(2).bytes(), "Truncated", "");
  c.bad("OneTensorTooMany", GgufBuilder().u32("k", 1).claim_n_tensors(1).bytes(), "Truncated", "");
}

void add_metadata(Collection& c) {
  c.bad("KeyEmpty", GgufBuilder().u32("", 1).bytes(), "InvalidMetadataKey", "number 0 '' is empty");
  c.bad("KeyWithZeroByte", GgufBuilder().u32(std::string("a\0b", 3), 1).bytes(),
        "InvalidMetadataKey", "'a\\x00b' contains a zero byte");
  c.bad("KeyOf70000Bytes", GgufBuilder().u32(std::string(70000, 'k'), 1).bytes(),
        "InvalidMetadataKey", "… (70000 bytes)' is longer than 65535 bytes");
  c.bad("KeyTwice", GgufBuilder().u32("a", 1).u32("twin", 1).u32("b", 1).string("twin", "").bytes(),
        "DuplicateMetadataKey", "'twin' appears twice");
  for (const uint32_t id : {13u, 14u, 255u, 0x80000000u, 0xffffffffu}) {
    c.unsupported(fmt::format("ValueType{}", id), one_key("k", id, Bytes(64)),
                  "UnsupportedValueType",
                  fmt::format("'k': expected a value type of 0 to 12, found {}", id));
    c.unsupported(fmt::format("ArrayElementType{}", id),
                  one_key("k", kArray, numbers(id, uint64_t{1}, uint64_t{0})),
                  "UnsupportedValueType", fmt::format("found {}", id));
  }
  c.unsupported("NestedArray",
                one_key("k", kArray, numbers(kArray, uint64_t{1}, uint32_t{4}, uint64_t{1}, 7u)),
                "NestedArray", "'k': arrays of arrays");
  c.bad("Bool2", one_key("k", 7, numbers(uint8_t{2})), "InvalidBool", "0 or 1, found 2");
  c.bad("Bool255", one_key("k", 7, numbers(uint8_t{255})), "InvalidBool", "0 or 1, found 255");
  c.bad("BoolInArray3",
        one_key("k", kArray, numbers(uint32_t{7}, uint64_t{3}, uint8_t{0}, uint8_t{1}, uint8_t{3})),
        "InvalidBool", "found 3");
  for (const uint32_t alignment : {0u, 1u, 2u, 4u, 3u, 24u, 33u, 0x200000u, 0x80000000u, ~0u}) {
    c.bad(fmt::format("Alignment{}", alignment),
          GgufBuilder().u32("general.alignment", alignment).bytes(), "InvalidAlignment",
          fmt::format("power of two from 8 to 1048576, found {}", alignment));
  }
  c.bad("AlignmentOfTypeU64", GgufBuilder().u64("general.alignment", 32).bytes(),
        "InvalidAlignment", "expected a u32, a power of two from 8 to 1048576, found u64");
  c.bad("AlignmentOfTypeString", GgufBuilder().string("general.alignment", "32").bytes(),
        "InvalidAlignment", "found string");
  c.bad("AlignmentOfTypeArray", GgufBuilder().u32s("general.alignment", {32}).bytes(),
        "InvalidAlignment", "found array of 1 u32");
}

void add_shapes(Collection& c) {
  const auto f32 = [](const std::vector<uint64_t>& dims) {
    return one_tensor(DType::F32, {1}, 4).claim_dims(dims).bytes();
  };
  constexpr uint64_t k32 = uint64_t{1} << 32;
  constexpr uint64_t k63 = uint64_t{1} << 63;
  c.bad("FiveDims", f32({1, 1, 1, 1, 1}), "InvalidTensorShape", "at most 4 dimensions, found 5");
  c.bad("ManyDims", f32(std::vector<uint64_t>(1000, 1)), "InvalidTensorShape", "found 1000");
  c.bad("DimNegative", f32({~uint64_t{0}}), "InvalidTensorShape", "too many values");
  c.bad("Dim63Bit", f32({k63, 1}), "InvalidTensorShape", "tensor 't': the shape [");
  c.bad("Dim63BitTimesZero", f32({0, k63}), "InvalidTensorShape", "too many values");
  c.bad("DimsWrapToZero", f32({k32, k32}), "InvalidTensorShape", "[4294967296, 4294967296]");
  c.bad("DimsWrapToOne", f32({k32 + 1, k32 - 1, 1, 1}), "InvalidTensorShape", "too many values");
  c.bad("DimsWrapInTheFourth", f32({1u << 16, 1u << 16, 1u << 16, 1u << 16}), "InvalidTensorShape",
        "too many values");
  c.bad("BytesWrap", f32({k63 - 1}), "InvalidTensorShape", "too many bytes");
  c.bad("BytesWrapToSmall", f32({(uint64_t{1} << 62) + 1}), "InvalidTensorShape", "too many bytes");
  c.bad("BlockBytesWrap", one_tensor(DType::F64, {1}, 8).claim_dims({uint64_t{1} << 61}).bytes(),
        "InvalidTensorShape", "too many bytes");
  c.bad("Q4KRowOf100", one_tensor(DType::Q4_K, {100, 2}, 288).bytes(), "InvalidTensorShape",
        "rows of Q4_K hold whole blocks of 256 values, found 100");
  c.bad("Q80RowOf1", one_tensor(DType::Q8_0, {1, 32}, 34).bytes(), "InvalidTensorShape",
        "rows of Q8_0 hold whole blocks of 32 values, found 1");
  c.bad("TensorWithoutDimsInBlocks", one_tensor(DType::Q8_0, {}, 34).bytes(), "InvalidTensorShape",
        "rows of Q8_0");
}

void add_tensors(Collection& c) {
  for (const uint32_t id : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u, 43u, 99u, 0x80000000u, ~0u}) {
    c.unsupported(fmt::format("TensorType{}", id),
                  one_tensor(DType::F32, {8}, 32).claim_type(id).bytes(), "UnsupportedTensorType",
                  fmt::format("tensor 't': tensor type {} is unknown", id));
  }
  c.bad("TensorNameEmpty", GgufBuilder().tensor("", DType::F32, {8}, Bytes(32)).bytes(),
        "InvalidTensorName", "number 0 '' is empty");
  c.bad("TensorNameWithZeroByte",
        GgufBuilder().tensor(std::string("a\0b", 3), DType::F32, {8}, Bytes(32)).bytes(),
        "InvalidTensorName", "zero byte");
  c.bad("TensorNameOf65Bytes",
        GgufBuilder().tensor(std::string(65, 'n'), DType::F32, {8}, Bytes(32)).bytes(),
        "InvalidTensorName", "longer than 64 bytes");
  c.bad("TensorNameTwice", two_tensors().tensor("first", DType::F32, {8}, Bytes(32)).bytes(),
        "DuplicateTensorName", "'first' appears twice");
  c.bad("OffsetAtTheEnd", two_tensors().claim_offset(64).bytes(), "Truncated",
        "tensor 'second': the file is truncated or damaged: 32 bytes expected at offset 64");
  c.bad("OffsetWrapsAround", two_tensors().claim_offset(~uint64_t{31}).bytes(), "Truncated",
        "tensor 'second'");
  c.bad("Offset63Bit", two_tensors().claim_offset(uint64_t{1} << 63).bytes(), "Truncated",
        "tensor 'second'");
  c.bad("OffsetMisaligned", two_tensors().claim_offset(8).bytes(), "InvalidTensorOffset",
        "tensor 'second': expected an offset that is a multiple of 32, found 8");
  c.bad("OffsetMisalignedForItsFile",
        GgufBuilder()
            .alignment(64)
            .tensor("first", DType::F32, {8}, Bytes(32))
            .tensor("second", DType::F32, {8}, Bytes(32))
            .claim_offset(32)
            .bytes(),
        "InvalidTensorOffset", "multiple of 64, found 32");
  c.bad("SameOffset", two_tensors().claim_offset(0).bytes(), "OverlappingTensors",
        "'first' and 'second' overlap at offset 0");
  c.bad("PartlyOverlapping",
        GgufBuilder()
            .tensor("late", DType::F32, {16}, Bytes(64))
            .claim_offset(32)
            .tensor("early", DType::F32, {16}, Bytes(64))
            .claim_offset(0)
            .bytes(),
        "OverlappingTensors", "'early' and 'late' overlap at offset 32");
  c.bad("OverlapBehindAnEmptyTensor",
        GgufBuilder()
            .tensor("a", DType::F32, {32}, Bytes(128))
            .tensor("empty", DType::F32, {0}, {})
            .claim_offset(32)
            .tensor("b", DType::F32, {8}, Bytes(32))
            .claim_offset(64)
            .bytes(),
        "OverlappingTensors", "'a' and 'b'");
  c.bad(
      "DataOneByteShort",
      [] {
        Bytes bytes = two_tensors().bytes();
        bytes.pop_back();
        return bytes;
      }(),
      "Truncated", "tensor 'second'");
}

void add_shard_keys(Collection& c) {
  c.bad("SplitNoBeyondCount", GgufBuilder().u16("split.no", 3).u16("split.count", 3).bytes(),
        "WrongShard", "'split.no': expected less than split.count = 3, found 3");
  c.bad("SplitNoOfWholeFile", GgufBuilder().u16("split.no", 1).bytes(), "WrongShard",
        "less than split.count = 1, found 1");
  c.bad("SplitCountNegative", GgufBuilder().i32("split.count", -1).bytes(), "WrongMetadataType",
        "'split.count': expected an integer ≥ 0, found -1");
  c.bad("SplitCountString", GgufBuilder().string("split.count", "3").bytes(), "WrongMetadataType",
        "found string");
  c.bad("SplitTensorsCountWrong", sample_gguf().i32("split.tensors.count", 4).bytes(), "WrongShard",
        "expected split.tensors.count = 4 tensors in all parts, found 3");
}

}  // namespace

Bytes numbered_bytes(size_t n, size_t first) {
  Bytes bytes(n);
  for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(first + i);
  return bytes;
}

GgufBuilder sample_gguf() {
  GgufBuilder builder;
  builder.string("general.architecture", "qwen3")
      .u8("sample.u8", 200)
      .i8("sample.i8", -100)
      .u16("sample.u16", 60000)
      .i16("sample.i16", -30000)
      .u32("sample.u32", 4000000000)
      .i32("sample.i32", -2000000000)
      .u64("sample.u64", ~uint64_t{0})
      .i64("sample.i64", -(int64_t{1} << 62))
      .f32("sample.f32", 0.5f)
      .f64("sample.f64", 1e-300)
      .boolean("sample.true", true)
      .boolean("sample.false", false)
      .strings("sample.strings", {"a", "", "bc", std::string("\0\xff", 2)})
      .u8s("sample.u8s", {0, 255})
      .i8s("sample.i8s", {-128, 127})
      .u16s("sample.u16s", {0, 65535})
      .i16s("sample.i16s", {-32768, 32767})
      .u32s("sample.u32s", {0, 4294967295})
      .i32s("sample.i32s", {-2147483647 - 1, 2147483647})
      .u64s("sample.u64s", {0, ~uint64_t{0}})
      .i64s("sample.i64s", {-1, 1})
      .f32s("sample.f32s", {-0.0f, 1.5f, 3.25f})
      .f64s("sample.f64s", {1e300})
      .bools("sample.bools", {true, false, true})
      .strings("sample.no_strings", {})
      .tensor("output_norm.weight", DType::F32, {3}, numbered_bytes(12, 1))
      .tensor("token_embd.weight", DType::Q8_0, {32, 3}, numbered_bytes(3 * 34, 20))
      .tensor("blk.0.attn_q.weight", DType::F16, {2, 3}, numbered_bytes(12, 200));
  return builder;
}

std::vector<HostileFile> hostile_files() {
  Collection collection;
  add_preambles(collection);
  add_counts(collection);
  add_metadata(collection);
  add_shapes(collection);
  add_tensors(collection);
  add_shard_keys(collection);
  return collection.take();
}

}  // namespace maglio::test

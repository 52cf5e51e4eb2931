#include "gguf/header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/escaped.h"
#include "gguf/format.h"
#include "maglio/error.h"

namespace maglio::gguf {
namespace {

// A tensor's entry as the file states it: the offset is still a claim.
struct Claim {
  TensorInfo tensor;
  uint64_t offset = 0;   // from the beginning of the data
  uint64_t n_bytes = 0;  // from shape and format
};

Error bad_file(const char* code, const std::string& message) {
  return Error(ErrorKind::bad_file, code, message);
}

uint32_t read_version(ByteReader& reader) {
  reader.describe("magic and version");
  const std::string_view magic = as_text(reader.take(kMagic.size()));
  if (magic != kMagic) {
    throw bad_file("InvalidMagic",
                   fmt::format("{}: not a GGUF file: expected it to begin with '{}', found '{}'",
                               reader.source(), kMagic, escaped(magic)));
  }
  const uint32_t version = reader.read<uint32_t>();
  const auto refuse = [&](const char* code, const std::string& why) {
    throw Error(ErrorKind::unsupported, code, fmt::format("{}: {}", reader.source(), why));
  };
  // Version 3 written in the other byte order reads as 0x03000000.
  if (version != 0 && (version & 0xffff) == 0) {
    refuse("WrongByteOrder",
           "the file is in the other byte order (big-endian); get or convert a little-endian one");
  }
  if (version == 1) {
    refuse("UnsupportedVersion",
           "GGUF version 1 is no longer read; convert the model to version 3");
  }
  if (version < kOldestVersion || version > kNewestVersion) {
    refuse("UnsupportedVersion", fmt::format("GGUF version {} is unknown; expected {} or {}",
                                             version, kOldestVersion, kNewestVersion));
  }
  return version;
}

// A count of records of at least `min_bytes` each. The 32-bit limit is that of the sorted indices.
uint64_t read_count(ByteReader& reader, std::string_view what, uint64_t min_bytes) {
  reader.describe(what);
  const uint64_t count = reader.read<uint64_t>();
  if (count > reader.remaining() / min_bytes || count > std::numeric_limits<uint32_t>::max()) {
    throw bad_file("Truncated",
                   fmt::format("{}: the file is truncated or damaged: {} claimed, {} bytes left",
                               reader.where(), count, reader.remaining()));
  }
  return count;
}

std::string_view read_text(ByteReader& reader) {
  return as_text(reader.take(reader.read<uint64_t>()));
}

void require_booleans(const ByteReader& reader, std::span<const std::byte> bytes) {
  for (const std::byte b : bytes) {
    if (b > std::byte{1}) {
      throw bad_file("InvalidBool", fmt::format("{}: expected a bool of 0 or 1, found {}",
                                                reader.where(), static_cast<int>(b)));
    }
  }
}

ValueType read_value_type(ByteReader& reader) {
  const uint32_t id = reader.read<uint32_t>();
  const std::optional<ValueType> type = value_type_from_id(id);
  if (!type) {
    throw Error(ErrorKind::unsupported, "UnsupportedValueType",
                fmt::format("{}: expected a value type of 0 to {}, found {}", reader.where(),
                            static_cast<uint32_t>(ValueType::f64), id));
  }
  return *type;
}

// The elements stay where they are; strings are walked once to find their end. A limit on their
// number, because a file with holes can hold any number of empty ones in no space at all.
Value read_array(ByteReader& reader, std::span<const std::byte> bytes) {
  Value value{.type = ValueType::array, .element_type = read_value_type(reader)};
  if (value.element_type == ValueType::array) {
    throw Error(ErrorKind::unsupported, "NestedArray",
                fmt::format("{}: arrays of arrays are not supported", reader.where()));
  }
  value.count = reader.read<uint64_t>();
  const size_t element_bytes = fixed_bytes(value.element_type);
  const size_t begin = reader.position();
  if (element_bytes != 0) {
    // A product that leaves 64 bits is more than any file has.
    reader.take(
        checked_mul(value.count, element_bytes).value_or(std::numeric_limits<uint64_t>::max()));
  } else {
    const uint64_t n_walked = std::min(value.count, kMaxStrings);
    for (uint64_t i = 0; i < n_walked; ++i) read_text(reader);
    if (n_walked < value.count) {
      throw Error(ErrorKind::unsupported, "TooManyStrings",
                  fmt::format("{}: expected at most {} strings, found {}", reader.where(),
                              kMaxStrings, value.count));
    }
  }
  value.bytes = bytes.subspan(begin, reader.position() - begin);
  if (value.element_type == ValueType::boolean) require_booleans(reader, value.bytes);
  return value;
}

Value read_value(ByteReader& reader, std::span<const std::byte> bytes) {
  const ValueType type = read_value_type(reader);
  if (type == ValueType::array) return read_array(reader, bytes);
  Value value{.type = type, .element_type = type};
  if (type == ValueType::string) {
    value.bytes = as_byte_span(read_text(reader));
  } else {
    value.bytes = reader.take(fixed_bytes(type));
  }
  if (type == ValueType::boolean) require_booleans(reader, value.bytes);
  return value;
}

std::string_view read_key(ByteReader& reader, uint64_t key_i) {
  reader.describe("metadata keys");
  const std::string_view key = read_text(reader);
  const char* problem = nullptr;
  if (key.empty()) problem = "is empty";
  if (key.size() > kMaxKeyBytes) problem = "is longer than 65535 bytes";
  if (key.find('\0') != key.npos) problem = "contains a zero byte";
  if (problem != nullptr) {
    throw bad_file("InvalidMetadataKey",
                   fmt::format("{}: metadata key number {} '{}' {}", reader.source(), key_i,
                               escaped(key), problem));
  }
  return key;
}

Metadata read_metadata(ByteReader& reader, std::span<const std::byte> bytes, uint64_t n_keys) {
  std::vector<Metadata::Entry> entries;
  for (uint64_t i = 0; i < n_keys; ++i) {
    const std::string_view key = read_key(reader, i);
    reader.describe("metadata key", key);
    entries.push_back({key, read_value(reader, bytes)});
  }
  entries.shrink_to_fit();
  return Metadata(std::move(entries), reader.source());
}

uint64_t alignment_of(const Metadata& metadata) {
  const Value* value = metadata.find(kAlignmentKey);
  if (value == nullptr) return kDefaultAlignment;
  const bool is_u32 = value->type == ValueType::u32;
  const uint64_t alignment = is_u32 ? value->at<uint32_t>() : 0;
  if (std::has_single_bit(alignment) && alignment >= kMinAlignment && alignment <= kMaxAlignment) {
    return alignment;
  }
  throw bad_file("InvalidAlignment",
                 fmt::format("{}: metadata key '{}': expected a u32, a power of two from {} to {}, "
                             "found {}",
                             metadata.source(), kAlignmentKey, kMinAlignment, kMaxAlignment,
                             is_u32 ? std::to_string(alignment) : describe(*value)));
}

// 1 to 4 sizes whose product fits 63 bits. A tensor without sizes is one value, as in ggml.
std::vector<uint64_t> read_dims(ByteReader& reader) {
  const uint32_t n_dims = reader.read<uint32_t>();
  if (n_dims > kMaxDims) {
    throw bad_file("InvalidTensorShape", fmt::format("{}: expected at most {} dimensions, found {}",
                                                     reader.where(), kMaxDims, n_dims));
  }
  std::vector<uint64_t> dims(std::max(n_dims, 1u), 1);
  for (uint32_t i = 0; i < n_dims; ++i) dims[i] = reader.read<uint64_t>();
  constexpr auto kMaxValues = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  uint64_t n_values = 1;
  for (const uint64_t dim : dims) {
    const std::optional<uint64_t> product = checked_mul(n_values, dim);
    if (dim > kMaxValues || !product || *product > kMaxValues) {
      throw bad_file("InvalidTensorShape", fmt::format("{}: the shape [{}] has too many values",
                                                       reader.where(), fmt::join(dims, ", ")));
    }
    n_values = *product;
  }
  return dims;
}

DType read_dtype(ByteReader& reader) {
  const uint32_t id = reader.read<uint32_t>();
  const std::optional<DType> dtype = dtype_from_id(id);
  if (!dtype) {
    throw Error(ErrorKind::unsupported, "UnsupportedTensorType",
                fmt::format("{}: tensor type {} is unknown or no longer part of the format",
                            reader.where(), id));
  }
  return *dtype;
}

std::string_view read_tensor_name(ByteReader& reader, uint64_t tensor_i) {
  reader.describe("tensor names");
  const std::string_view name = read_text(reader);
  const char* problem = nullptr;
  if (name.empty()) problem = "is empty";
  if (name.size() > kMaxTensorNameBytes) problem = "is longer than 64 bytes";
  if (name.find('\0') != name.npos) problem = "contains a zero byte";
  if (problem != nullptr) {
    throw bad_file("InvalidTensorName",
                   fmt::format("{}: the name of tensor number {} '{}' {}", reader.source(),
                               tensor_i, escaped(name), problem));
  }
  return name;
}

Claim read_claim(ByteReader& reader, uint64_t tensor_i, uint64_t alignment) {
  Claim claim;
  claim.tensor.name = read_tensor_name(reader, tensor_i);
  reader.describe("tensor", claim.tensor.name);
  claim.tensor.dims = read_dims(reader);
  claim.tensor.dtype = read_dtype(reader);
  claim.offset = reader.read<uint64_t>();

  const DTypeInfo& type = dtype_info(claim.tensor.dtype);
  const uint64_t row_values = claim.tensor.dims[0];
  if (row_values % type.block_size != 0) {
    throw bad_file("InvalidTensorShape",
                   fmt::format("{}: rows of {} hold whole blocks of {} values, found {} values",
                               reader.where(), type.name, type.block_size, row_values));
  }
  const std::optional<uint64_t> n_bytes =
      checked_mul(claim.tensor.n_values() / type.block_size, type.block_bytes);
  if (!n_bytes) {
    throw bad_file("InvalidTensorShape",
                   fmt::format("{}: the shape [{}] has too many bytes", reader.where(),
                               fmt::join(claim.tensor.dims, ", ")));
  }
  claim.n_bytes = *n_bytes;
  if (claim.offset % alignment != 0) {
    throw bad_file("InvalidTensorOffset",
                   fmt::format("{}: expected an offset that is a multiple of {}, found {}",
                               reader.where(), alignment, claim.offset));
  }
  return claim;
}

// Requires: every claim lies within the data.
void require_no_overlap(const std::vector<Claim>& claims, const std::string& source) {
  std::vector<uint32_t> order(claims.size());
  std::iota(order.begin(), order.end(), uint32_t{0});
  std::ranges::sort(order, {}, [&](uint32_t i) { return claims[i].offset; });
  const Claim* before = nullptr;  // the last one that has bytes
  for (const uint32_t i : order) {
    const Claim& claim = claims[i];
    if (claim.n_bytes == 0) continue;
    if (before != nullptr && before->offset + before->n_bytes > claim.offset) {
      throw bad_file(
          "OverlappingTensors",
          fmt::format("{}: tensors '{}' and '{}' overlap at offset {} of the data", source,
                      escaped(before->tensor.name), escaped(claim.tensor.name), claim.offset));
    }
    before = &claim;
  }
}

std::vector<TensorInfo> place(std::vector<Claim> claims,
                              std::span<const std::byte> data,
                              const std::string& source) {
  for (Claim& claim : claims) {
    const std::optional<uint64_t> end = checked_add(claim.offset, claim.n_bytes);
    if (!end || *end > data.size()) {
      throw bad_file(
          "Truncated",
          fmt::format("{}: tensor '{}': the file is truncated or damaged: {} bytes expected at "
                      "offset {} of the data, which has {} bytes",
                      source, escaped(claim.tensor.name), claim.n_bytes, claim.offset,
                      data.size()));
    }
    claim.tensor.data =
        data.subspan(static_cast<size_t>(claim.offset), static_cast<size_t>(claim.n_bytes));
  }
  require_no_overlap(claims, source);
  std::vector<TensorInfo> tensors;
  tensors.reserve(claims.size());
  for (Claim& claim : claims) tensors.push_back(std::move(claim.tensor));
  return tensors;
}

}  // namespace

Header parse_header(std::span<const std::byte> bytes, const std::string& source) {
  ByteReader reader(bytes, source);
  Header header;
  header.version = read_version(reader);
  // Least sizes of a record: a length, one byte and a type; a length, a byte and three numbers.
  const uint64_t n_tensors = read_count(reader, "number of tensors", 8 + 1 + 4 + 4 + 8);
  const uint64_t n_keys = read_count(reader, "number of metadata keys", 8 + 1 + 4 + 1);
  header.metadata = read_metadata(reader, bytes, n_keys);
  header.alignment = alignment_of(header.metadata);

  std::vector<Claim> claims;
  for (uint64_t i = 0; i < n_tensors; ++i) {
    claims.push_back(read_claim(reader, i, header.alignment));
  }

  // A file without tensors may end without the padding.
  const std::optional<uint64_t> aligned = checked_align(reader.position(), header.alignment);
  header.data_offset = std::min<uint64_t>(aligned.value_or(bytes.size()), bytes.size());
  const auto data = bytes.subspan(static_cast<size_t>(header.data_offset));
  header.tensors = place(std::move(claims), data, source);
  return header;
}

}  // namespace maglio::gguf

#include "support/gguf_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace maglio::test {

using gguf::ValueType;

void append_string(Bytes& out, std::string_view text) {
  append_number(out, uint64_t{text.size()});
  const auto* p = reinterpret_cast<const std::byte*>(text.data());
  out.insert(out.end(), p, p + text.size());
}

Bytes float_bytes(std::span<const float> values) {
  const auto bytes = std::as_bytes(values);
  return {bytes.begin(), bytes.end()};
}

void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  if (!out.flush()) throw std::runtime_error("cannot write " + path.string());
}

GgufBuilder& GgufBuilder::raw(std::string_view key, uint32_t type_id, const Bytes& value) {
  Bytes& entry = keys_.emplace_back();
  append_string(entry, key);
  append_number(entry, type_id);
  entry.insert(entry.end(), value.begin(), value.end());
  return *this;
}

template <class T>
GgufBuilder& GgufBuilder::number(std::string_view key, ValueType type, T v) {
  Bytes value;
  append_number(value, v);
  return raw(key, static_cast<uint32_t>(type), value);
}

template <class T>
GgufBuilder& GgufBuilder::array(std::string_view key, ValueType type, const std::vector<T>& v) {
  Bytes value;
  append_number(value, static_cast<uint32_t>(type));
  append_number(value, uint64_t{v.size()});
  for (const auto& element : v) {
    if constexpr (std::is_same_v<T, std::string>) {
      append_string(value, element);
    } else {
      append_number(value, T{element});
    }
  }
  return raw(key, static_cast<uint32_t>(ValueType::array), value);
}

GgufBuilder& GgufBuilder::u8(std::string_view key, uint8_t v) {
  return number(key, ValueType::u8, v);
}
GgufBuilder& GgufBuilder::i8(std::string_view key, int8_t v) {
  return number(key, ValueType::i8, v);
}
GgufBuilder& GgufBuilder::u16(std::string_view key, uint16_t v) {
  return number(key, ValueType::u16, v);
}
GgufBuilder& GgufBuilder::i16(std::string_view key, int16_t v) {
  return number(key, ValueType::i16, v);
}
GgufBuilder& GgufBuilder::u32(std::string_view key, uint32_t v) {
  return number(key, ValueType::u32, v);
}
GgufBuilder& GgufBuilder::i32(std::string_view key, int32_t v) {
  return number(key, ValueType::i32, v);
}
GgufBuilder& GgufBuilder::u64(std::string_view key, uint64_t v) {
  return number(key, ValueType::u64, v);
}
GgufBuilder& GgufBuilder::i64(std::string_view key, int64_t v) {
  return number(key, ValueType::i64, v);
}
GgufBuilder& GgufBuilder::f32(std::string_view key, float v) {
  return number(key, ValueType::f32, v);
}
GgufBuilder& GgufBuilder::f64(std::string_view key, double v) {
  return number(key, ValueType::f64, v);
}
GgufBuilder& GgufBuilder::boolean(std::string_view key, bool v) {
  return number(key, ValueType::boolean, v);
}
GgufBuilder& GgufBuilder::string(std::string_view key, std::string_view v) {
  Bytes value;
  append_string(value, v);
  return raw(key, static_cast<uint32_t>(ValueType::string), value);
}

GgufBuilder& GgufBuilder::strings(std::string_view key, const std::vector<std::string>& v) {
  return array(key, ValueType::string, v);
}
GgufBuilder& GgufBuilder::u8s(std::string_view key, const std::vector<uint8_t>& v) {
  return array(key, ValueType::u8, v);
}
GgufBuilder& GgufBuilder::i8s(std::string_view key, const std::vector<int8_t>& v) {
  return array(key, ValueType::i8, v);
}
GgufBuilder& GgufBuilder::u16s(std::string_view key, const std::vector<uint16_t>& v) {
  return array(key, ValueType::u16, v);
}
GgufBuilder& GgufBuilder::i16s(std::string_view key, const std::vector<int16_t>& v) {
  return array(key, ValueType::i16, v);
}
GgufBuilder& GgufBuilder::u32s(std::string_view key, const std::vector<uint32_t>& v) {
  return array(key, ValueType::u32, v);
}
GgufBuilder& GgufBuilder::i32s(std::string_view key, const std::vector<int32_t>& v) {
  return array(key, ValueType::i32, v);
}
GgufBuilder& GgufBuilder::u64s(std::string_view key, const std::vector<uint64_t>& v) {
  return array(key, ValueType::u64, v);
}
GgufBuilder& GgufBuilder::i64s(std::string_view key, const std::vector<int64_t>& v) {
  return array(key, ValueType::i64, v);
}
GgufBuilder& GgufBuilder::f32s(std::string_view key, const std::vector<float>& v) {
  return array(key, ValueType::f32, v);
}
GgufBuilder& GgufBuilder::f64s(std::string_view key, const std::vector<double>& v) {
  return array(key, ValueType::f64, v);
}
GgufBuilder& GgufBuilder::bools(std::string_view key, const std::vector<bool>& v) {
  return array(key, ValueType::boolean, v);
}

GgufBuilder& GgufBuilder::tensor(std::string_view name,
                                 DType dtype,
                                 const std::vector<uint64_t>& dims,
                                 Bytes data) {
  tensors_.push_back(
      {std::string(name), static_cast<uint32_t>(dtype), dims, std::nullopt, std::move(data)});
  return *this;
}
GgufBuilder& GgufBuilder::claim_type(uint32_t type_id) {
  tensors_.back().type_id = type_id;
  return *this;
}
GgufBuilder& GgufBuilder::claim_dims(const std::vector<uint64_t>& dims) {
  tensors_.back().dims = dims;
  return *this;
}
GgufBuilder& GgufBuilder::claim_offset(uint64_t offset) {
  tensors_.back().offset = offset;
  return *this;
}

GgufBuilder& GgufBuilder::version(uint32_t v) {
  version_ = v;
  return *this;
}
GgufBuilder& GgufBuilder::alignment(uint32_t v) {
  alignment_ = v;
  return u32(gguf::kAlignmentKey, v);
}
GgufBuilder& GgufBuilder::claim_n_keys(uint64_t n) {
  n_keys_claim_ = n;
  return *this;
}
GgufBuilder& GgufBuilder::claim_n_tensors(uint64_t n) {
  n_tensors_claim_ = n;
  return *this;
}

Bytes GgufBuilder::header() const {
  Bytes out;
  for (const char c : gguf::kMagic) append_number(out, c);
  append_number(out, version_);
  append_number(out, n_tensors_claim_.value_or(tensors_.size()));
  append_number(out, n_keys_claim_.value_or(keys_.size()));
  for (const Bytes& key : keys_) out.insert(out.end(), key.begin(), key.end());
  uint64_t offset = 0;
  for (const Tensor& tensor : tensors_) {
    append_string(out, tensor.name);
    append_number(out, static_cast<uint32_t>(tensor.dims.size()));
    for (const uint64_t dim : tensor.dims) append_number(out, dim);
    append_number(out, tensor.type_id);
    append_number(out, tensor.offset.value_or(offset));
    offset += padded(tensor.data.size());
  }
  return out;
}

size_t GgufBuilder::header_bytes() const {
  return header().size();
}

// The last tensor's data is not padded, so that a file cut by one byte lacks a byte of data.
Bytes GgufBuilder::bytes() const {
  Bytes out = header();
  for (const Tensor& tensor : tensors_) {
    out.resize(padded(out.size()));
    out.insert(out.end(), tensor.data.begin(), tensor.data.end());
  }
  return out;
}

void GgufBuilder::write(const std::filesystem::path& path) const {
  write_file(path, bytes());
}

std::vector<std::filesystem::path> GgufBuilder::write_split(const std::filesystem::path& folder,
                                                            std::string_view stem,
                                                            size_t n) const {
  std::vector<std::filesystem::path> paths;
  const size_t per_part = (tensors_.size() + n - 1) / n;
  for (size_t i = 0; i < n; ++i) {
    GgufBuilder part;
    part.version_ = version_;
    part.alignment_ = alignment_;
    if (i == 0) {
      part.keys_ = keys_;
    } else if (alignment_ != gguf::kDefaultAlignment) {
      part.alignment(static_cast<uint32_t>(alignment_));
    }
    part.u16("split.no", static_cast<uint16_t>(i));
    part.u16("split.count", static_cast<uint16_t>(n));
    part.i32("split.tensors.count", static_cast<int32_t>(tensors_.size()));
    for (size_t t = i * per_part; t < std::min((i + 1) * per_part, tensors_.size()); ++t) {
      part.tensors_.push_back(tensors_[t]);
    }
    paths.push_back(folder / fmt::format("{}-{:05}-of-{:05}.gguf", stem, i + 1, n));
    part.write(paths.back());
  }
  return paths;
}

}  // namespace maglio::test

// Writes GGUF files for tests, byte for byte: good ones, and as wrong as a test needs them.
//
//   GgufBuilder().string("general.architecture", "llama").u32("llama.block_count", 2)
//       .tensor("output_norm.weight", DType::F32, {8}, float_bytes(std::vector<float>(8, 1.0f)))
//       .write(folder / "model.gguf");
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/format.h"
#include "tensor/dtype.h"

namespace maglio::test {

using Bytes = std::vector<std::byte>;

// The little-endian bytes of a number, a counted string, a row of floats.
template <class T>
void append_number(Bytes& out, T value) {
  const auto* p = reinterpret_cast<const std::byte*>(&value);  // tests run on little-endian hosts
  out.insert(out.end(), p, p + sizeof(T));
}
void append_string(Bytes& out, std::string_view text);
Bytes float_bytes(std::span<const float> values);

void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

class GgufBuilder {
 public:
  GgufBuilder& u8(std::string_view key, uint8_t v);
  GgufBuilder& i8(std::string_view key, int8_t v);
  GgufBuilder& u16(std::string_view key, uint16_t v);
  GgufBuilder& i16(std::string_view key, int16_t v);
  GgufBuilder& u32(std::string_view key, uint32_t v);
  GgufBuilder& i32(std::string_view key, int32_t v);
  GgufBuilder& u64(std::string_view key, uint64_t v);
  GgufBuilder& i64(std::string_view key, int64_t v);
  GgufBuilder& f32(std::string_view key, float v);
  GgufBuilder& f64(std::string_view key, double v);
  GgufBuilder& boolean(std::string_view key, bool v);
  GgufBuilder& string(std::string_view key, std::string_view v);

  GgufBuilder& strings(std::string_view key, const std::vector<std::string>& v);
  GgufBuilder& u8s(std::string_view key, const std::vector<uint8_t>& v);
  GgufBuilder& i8s(std::string_view key, const std::vector<int8_t>& v);
  GgufBuilder& u16s(std::string_view key, const std::vector<uint16_t>& v);
  GgufBuilder& i16s(std::string_view key, const std::vector<int16_t>& v);
  GgufBuilder& u32s(std::string_view key, const std::vector<uint32_t>& v);
  GgufBuilder& i32s(std::string_view key, const std::vector<int32_t>& v);
  GgufBuilder& u64s(std::string_view key, const std::vector<uint64_t>& v);
  GgufBuilder& i64s(std::string_view key, const std::vector<int64_t>& v);
  GgufBuilder& f32s(std::string_view key, const std::vector<float>& v);
  GgufBuilder& f64s(std::string_view key, const std::vector<double>& v);
  GgufBuilder& bools(std::string_view key, const std::vector<bool>& v);

  // A key with any type number and any bytes behind it.
  GgufBuilder& raw(std::string_view key, uint32_t type_id, const Bytes& value);

  // dims innermost first; data in the format's blocks.
  GgufBuilder& tensor(std::string_view name,
                      DType dtype,
                      const std::vector<uint64_t>& dims,
                      Bytes data);
  // What the last tensor() says of itself in the file, whatever its data.
  GgufBuilder& claim_type(uint32_t type_id);
  GgufBuilder& claim_dims(const std::vector<uint64_t>& dims);
  GgufBuilder& claim_offset(uint64_t offset);

  GgufBuilder& version(uint32_t v);
  // Where data is placed; also writes general.alignment.
  GgufBuilder& alignment(uint32_t v);
  // What the header says of its counts, whatever they are.
  GgufBuilder& claim_n_keys(uint64_t n);
  GgufBuilder& claim_n_tensors(uint64_t n);

  size_t header_bytes() const;  // everything before the padding and the data
  Bytes bytes() const;
  void write(const std::filesystem::path& path) const;

  // The same model as n files "<stem>-00001-of-0000n.gguf", tensors dealt in order, as gguf-split
  // does it: the metadata goes into the first. Returns the paths.
  std::vector<std::filesystem::path> write_split(const std::filesystem::path& folder,
                                                 std::string_view stem,
                                                 size_t n) const;

 private:
  struct Tensor {
    std::string name;
    uint32_t type_id;
    std::vector<uint64_t> dims;
    std::optional<uint64_t> offset;
    Bytes data;
  };

  template <class T>
  GgufBuilder& number(std::string_view key, gguf::ValueType type, T v);
  template <class T>
  GgufBuilder& array(std::string_view key, gguf::ValueType type, const std::vector<T>& v);
  Bytes header() const;
  uint64_t padded(uint64_t n) const { return (n + alignment_ - 1) / alignment_ * alignment_; }

  uint32_t version_ = gguf::kNewestVersion;
  uint64_t alignment_ = gguf::kDefaultAlignment;
  std::vector<Bytes> keys_;  // key, type and value, as in the file
  std::vector<Tensor> tensors_;
  std::optional<uint64_t> n_keys_claim_;
  std::optional<uint64_t> n_tensors_claim_;
};

}  // namespace maglio::test

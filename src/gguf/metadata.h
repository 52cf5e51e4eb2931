// The key-value pairs of a model file, and getters that check the type.
//
// A Value is a view of the value's bytes in the file: nothing is converted or copied until a getter
// is asked. A getter returns nothing for an absent key and throws for a value of another type:
//
//   const uint64_t n_layers = metadata.uint("qwen3.block_count").value();
//   const StringArray tokens = metadata.strings("tokenizer.ggml.tokens").value();
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "gguf/format.h"

namespace maglio::gguf {

// Invariants (the reader's): the bytes hold exactly `count` elements; booleans are 0 or 1.
struct Value {
  ValueType type = ValueType::u8;          // ValueType::array for arrays
  ValueType element_type = ValueType::u8;  // of an array; else the type itself
  uint64_t count = 1;                      // of an array's elements; else 1
  std::span<const std::byte> bytes = {};   // as stored; of a string: its text without the length

  bool is_array() const { return type == ValueType::array; }

  // Element i of a scalar (i = 0) or an array. Requires: i < count; T is what element_type says.
  template <WireNumber T>
  T at(size_t i = 0) const {
    return load_le<T>(bytes.data() + i * sizeof(T));
  }
};

// "u32", or "array of 151936 string".
std::string describe(const Value& value);

using StringArray = std::vector<std::string_view>;

// The first elements of an array of strings, at most `limit`, as views of the file's bytes.
// Requires: such an array.
StringArray string_elements(const Value& value, uint64_t limit = kMaxStrings);

// Borrows the file's bytes (keys, texts). Immutable, so safe for many threads.
class Metadata {
 public:
  struct Entry {
    std::string_view key;
    Value value;
  };

  Metadata() = default;
  // `source` names the file in messages. Throws: Error bad_file "DuplicateMetadataKey".
  Metadata(std::vector<Entry> entries, std::string source);

  std::span<const Entry> entries() const { return entries_; }  // in the file's order
  const std::string& source() const { return source_; }
  const Value* find(std::string_view key) const;

  // Each throws Error bad_file "WrongMetadataType" where the value is of another type or does not
  // fit. Integers of every width count as integers, and as numbers (exact up to 2^53).
  std::optional<uint64_t> uint(std::string_view key) const;
  std::optional<int64_t> integer(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;
  std::optional<bool> boolean(std::string_view key) const;
  std::optional<std::string_view> string(std::string_view key) const;
  std::optional<StringArray> strings(std::string_view key) const;
  std::optional<std::vector<float>> floats(std::string_view key) const;    // of f32
  std::optional<std::vector<int32_t>> ints(std::string_view key) const;    // of integers
  std::optional<std::vector<uint64_t>> uints(std::string_view key) const;  // or one integer alone

 private:
  [[noreturn]] void fail_type(std::string_view key,
                              std::string_view expected,
                              const Value& found) const;
  template <class Integer>
  Integer integer_at(std::string_view key, const Value& value, size_t i) const;

  std::vector<Entry> entries_;
  std::vector<uint32_t> by_key_;  // entries sorted by key; not a hash: no file can make it slow
  std::string source_;
};

}  // namespace maglio::gguf

// The constants of a GGUF file, versions 2 and 3 (they differ only in that 3 allows big-endian).
//
//   "GGUF" · u32 version · u64 n_tensors · u64 n_keys
//   n_keys    × { string key · u32 value type · value }
//   n_tensors × { string name · u32 n_dims · n_dims × u64, innermost first · u32 tensor type ·
//                 u64 offset from the beginning of the data }
//   zeros up to a multiple of general.alignment · the data of the tensors
//
// A string is u64 length · bytes. An array is u32 element type · u64 count · elements. All numbers
// are little-endian and unaligned. Source: docs/gguf.md of ggml; gguf.cpp of llama.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace maglio::gguf {

inline constexpr std::string_view kMagic = "GGUF";
inline constexpr uint32_t kOldestVersion = 2;
inline constexpr uint32_t kNewestVersion = 3;

inline constexpr std::string_view kAlignmentKey = "general.alignment";
inline constexpr uint64_t kDefaultAlignment = 32;
inline constexpr uint64_t kMinAlignment = 8;        // the specification: a multiple of 8
inline constexpr uint64_t kMaxAlignment = 1 << 20;  // ours: 1 MiB, far above any real file

inline constexpr uint32_t kMaxDims = 4;
inline constexpr size_t kMaxKeyBytes = 65535;      // the specification
inline constexpr uint64_t kMaxStrings = 1 << 24;   // ours, of one array: 64 large vocabularies
inline constexpr size_t kMaxTensorNameBytes = 64;  // the specification

// The numbers are those of the file format.
enum class ValueType : uint32_t {
  u8 = 0,
  i8 = 1,
  u16 = 2,
  i16 = 3,
  u32 = 4,
  i32 = 5,
  f32 = 6,
  boolean = 7,  // one byte, 0 or 1
  string = 8,
  array = 9,
  u64 = 10,
  i64 = 11,
  f64 = 12,
};

// The type with that number in a file; nothing where the number is unknown.
std::optional<ValueType> value_type_from_id(uint32_t id);

std::string_view to_string(ValueType type);

// Bytes of one value; 0 for strings and arrays, whose values say it themselves.
size_t fixed_bytes(ValueType type);

}  // namespace maglio::gguf

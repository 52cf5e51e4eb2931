// How a tensor's numbers are stored: the GGUF type list.
//
// Every format is a sequence of blocks: block_size values in block_bytes bytes (for F32: 1 value in
// 4 bytes). A row always holds whole blocks. All types of the format are known by name, so that a
// file can be described; those that the kernels compute with have is_weight_format() true.
// Source: ggml_type in ggml.h (llama.cpp, version in docs/numerics.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace maglio {

// The numbers are those of the file format.
enum class DType : uint32_t {
  F32 = 0,
  F16 = 1,
  Q4_0 = 2,
  Q4_1 = 3,
  Q5_0 = 6,
  Q5_1 = 7,
  Q8_0 = 8,
  Q8_1 = 9,
  Q2_K = 10,
  Q3_K = 11,
  Q4_K = 12,
  Q5_K = 13,
  Q6_K = 14,
  Q8_K = 15,
  IQ2_XXS = 16,
  IQ2_XS = 17,
  IQ3_XXS = 18,
  IQ1_S = 19,
  IQ4_NL = 20,
  IQ3_S = 21,
  IQ2_S = 22,
  IQ4_XS = 23,
  I8 = 24,
  I16 = 25,
  I32 = 26,
  I64 = 27,
  F64 = 28,
  IQ1_M = 29,
  BF16 = 30,
  TQ1_0 = 34,
  TQ2_0 = 35,
  MXFP4 = 39,
  NVFP4 = 40,
  Q1_0 = 41,
  Q2_0 = 42,
};

struct DTypeInfo {
  DType dtype;
  std::string_view name;  // as GGUF spells it
  uint32_t block_size;    // values in a block
  uint32_t block_bytes;   // bytes of a block
};

// The type with that number in a file; nothing where the number is unknown.
std::optional<DType> dtype_from_id(uint32_t id);

const DTypeInfo& dtype_info(DType dtype);
std::string_view to_string(DType dtype);

// True for the formats that matrices may be stored in and still be computed with.
bool is_weight_format(DType dtype);

// Bytes of a row of n values. Requires: n % block_size == 0.
size_t row_bytes(DType dtype, size_t n);

}  // namespace maglio

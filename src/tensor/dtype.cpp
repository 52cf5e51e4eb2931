#include "tensor/dtype.h"

#include <array>
#include <cassert>

namespace maglio {
namespace {

// clang-format off
constexpr std::array kTypes = {
    DTypeInfo{DType::F32,     "F32",       1,   4},
    DTypeInfo{DType::F16,     "F16",       1,   2},
    DTypeInfo{DType::Q4_0,    "Q4_0",     32,  18},
    DTypeInfo{DType::Q4_1,    "Q4_1",     32,  20},
    DTypeInfo{DType::Q5_0,    "Q5_0",     32,  22},
    DTypeInfo{DType::Q5_1,    "Q5_1",     32,  24},
    DTypeInfo{DType::Q8_0,    "Q8_0",     32,  34},
    DTypeInfo{DType::Q8_1,    "Q8_1",     32,  36},
    DTypeInfo{DType::Q2_K,    "Q2_K",    256,  84},
    DTypeInfo{DType::Q3_K,    "Q3_K",    256, 110},
    DTypeInfo{DType::Q4_K,    "Q4_K",    256, 144},
    DTypeInfo{DType::Q5_K,    "Q5_K",    256, 176},
    DTypeInfo{DType::Q6_K,    "Q6_K",    256, 210},
    DTypeInfo{DType::Q8_K,    "Q8_K",    256, 292},
    DTypeInfo{DType::IQ2_XXS, "IQ2_XXS", 256,  66},
    DTypeInfo{DType::IQ2_XS,  "IQ2_XS",  256,  74},
    DTypeInfo{DType::IQ3_XXS, "IQ3_XXS", 256,  98},
    DTypeInfo{DType::IQ1_S,   "IQ1_S",   256,  50},
    DTypeInfo{DType::IQ4_NL,  "IQ4_NL",   32,  18},
    DTypeInfo{DType::IQ3_S,   "IQ3_S",   256, 110},
    DTypeInfo{DType::IQ2_S,   "IQ2_S",   256,  82},
    DTypeInfo{DType::IQ4_XS,  "IQ4_XS",  256, 136},
    DTypeInfo{DType::I8,      "I8",        1,   1},
    DTypeInfo{DType::I16,     "I16",       1,   2},
    DTypeInfo{DType::I32,     "I32",       1,   4},
    DTypeInfo{DType::I64,     "I64",       1,   8},
    DTypeInfo{DType::F64,     "F64",       1,   8},
    DTypeInfo{DType::IQ1_M,   "IQ1_M",   256,  56},
    DTypeInfo{DType::BF16,    "BF16",      1,   2},
    DTypeInfo{DType::TQ1_0,   "TQ1_0",   256,  54},
    DTypeInfo{DType::TQ2_0,   "TQ2_0",   256,  66},
    DTypeInfo{DType::MXFP4,   "MXFP4",    32,  17},
    DTypeInfo{DType::NVFP4,   "NVFP4",    64,  36},
    DTypeInfo{DType::Q1_0,    "Q1_0",    128,  18},
    DTypeInfo{DType::Q2_0,    "Q2_0",     64,  18},
};
// clang-format on

}  // namespace

std::optional<DType> dtype_from_id(uint32_t id) {
  for (const DTypeInfo& t : kTypes) {
    if (static_cast<uint32_t>(t.dtype) == id) return t.dtype;
  }
  return std::nullopt;
}

const DTypeInfo& dtype_info(DType dtype) {
  for (const DTypeInfo& t : kTypes) {
    if (t.dtype == dtype) return t;
  }
  assert(false && "every enumerator of DType has a row in kTypes");
  return kTypes[0];
}

std::string_view to_string(DType dtype) {
  return dtype_info(dtype).name;
}

bool is_weight_format(DType dtype) {
  switch (dtype) {
    case DType::F32:
    case DType::F16:
    case DType::BF16:
    case DType::Q8_0:
    case DType::Q4_0:
    case DType::Q4_1:
    case DType::Q5_0:
    case DType::Q5_1:
    case DType::Q4_K:
    case DType::Q5_K:
    case DType::Q6_K:
      return true;
    default:
      return false;
  }
}

size_t row_bytes(DType dtype, size_t n) {
  const DTypeInfo& t = dtype_info(dtype);
  assert(n % t.block_size == 0 && "a row holds whole blocks");
  return n / t.block_size * t.block_bytes;
}

}  // namespace maglio

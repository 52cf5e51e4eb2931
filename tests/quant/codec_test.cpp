#include "quant/codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "quant/unpack.h"

namespace maglio {
namespace {

struct Golden {
  std::string kind;  // "decode": row to values; "encode": values to row
  DType dtype;
  std::vector<std::byte> input;
  std::vector<std::byte> expected;
};

std::vector<std::byte> from_hex(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

DType dtype_named(const std::string& name) {
  for (uint32_t id = 0; id < 64; ++id) {
    const auto dtype = dtype_from_id(id);
    if (dtype && to_string(*dtype) == name) return *dtype;
  }
  ADD_FAILURE() << "no type named " << name;
  return DType::F32;
}

// tests/data/quant_goldens.txt, written by tools/gen_quant_goldens.py with the gguf package.
std::vector<Golden> goldens(const std::string& kind) {
  std::ifstream file(MAGLIO_SOURCE_DIR "/tests/data/quant_goldens.txt");
  std::vector<Golden> found;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string what;
    std::string format;
    std::string input;
    std::string expected;
    words >> what >> format >> input >> expected;
    if (what == kind) {
      found.push_back({kind, dtype_named(format), from_hex(input), from_hex(expected)});
    }
  }
  return found;
}

std::vector<float> as_floats(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

const std::vector<DType> kFormats = {DType::F32,  DType::F16,  DType::BF16, DType::Q8_0,
                                     DType::Q4_0, DType::Q4_1, DType::Q5_0, DType::Q5_1,
                                     DType::Q4_K, DType::Q5_K, DType::Q6_K};

std::vector<float> gaussian(size_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(n);
  for (float& v : x) v = normal(rng);
  return x;
}

std::vector<float> round_trip(DType dtype, const std::vector<float>& x) {
  std::vector<std::byte> row(row_bytes(dtype, x.size()));
  std::vector<float> y(x.size());
  quantize_row(dtype, x.data(), x.size(), row.data());
  dequantize_row(dtype, row.data(), x.size(), y.data());
  return y;
}

double relative_rms(const std::vector<float>& x, const std::vector<float>& y) {
  double error = 0;
  double norm = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    error += (x[i] - y[i]) * static_cast<double>(x[i] - y[i]);
    norm += x[i] * static_cast<double>(x[i]);
  }
  return std::sqrt(error / norm);
}

TEST(Codec, EveryFormatDequantizesToTheBitsOfTheGgufPackage) {
  const auto all = goldens("decode");
  ASSERT_EQ(all.size(), 10u);
  for (const Golden& g : all) {
    std::vector<float> values(g.expected.size() / sizeof(float));
    dequantize_row(g.dtype, g.input.data(), values.size(), values.data());
    EXPECT_EQ(0, std::memcmp(values.data(), g.expected.data(), g.expected.size()))
        << to_string(g.dtype);
  }
}

TEST(Codec, FormatsOfSmallBlocksQuantizeToTheBytesOfTheGgufPackage) {
  const auto all = goldens("encode");
  ASSERT_EQ(all.size(), 7u);
  for (const Golden& g : all) {
    const auto values = as_floats(g.input);
    std::vector<std::byte> row(g.expected.size());
    quantize_row(g.dtype, values.data(), values.size(), row.data());
    EXPECT_EQ(row, g.expected) << to_string(g.dtype);
  }
}

TEST(Codec, ZerosComeBackAsExactZeros) {
  const std::vector<float> zeros(512, 0.0f);
  for (DType dtype : kFormats) EXPECT_EQ(round_trip(dtype, zeros), zeros) << to_string(dtype);
}

TEST(Codec, TheErrorOfEachFormatIsThatOfItsBits) {
  const auto x = gaussian(64 * 256, 7);
  // Relative RMS error on Gaussian values, at most; about what ggml's quantizers reach.
  const std::vector<std::pair<DType, double>> limits = {
      {DType::F32, 0.0},    {DType::F16, 3e-4},   {DType::BF16, 2e-3}, {DType::Q8_0, 6e-3},
      {DType::Q4_0, 0.10},  {DType::Q4_1, 0.085}, {DType::Q5_0, 0.05}, {DType::Q5_1, 0.042},
      {DType::Q4_K, 0.080}, {DType::Q5_K, 0.041}, {DType::Q6_K, 0.020}};
  for (const auto& [dtype, limit] : limits) {
    EXPECT_LE(relative_rms(x, round_trip(dtype, x)), limit) << to_string(dtype);
  }
}

TEST(Codec, ConstantBlocksAreWithinHalfAStep) {
  for (float c : {1.0f, -1.0f, 0.37f, -250.0f}) {
    const std::vector<float> x(256, c);
    for (DType dtype : kFormats) {
      for (float y : round_trip(dtype, x)) {
        EXPECT_NEAR(y, c, std::fabs(c) / 30) << to_string(dtype);
      }
    }
  }
}

TEST(Codec, RequantizingChangesAValueByAtMostOneStep) {
  const auto x = gaussian(1024, 11);
  for (DType dtype : kFormats) {
    const auto once = round_trip(dtype, x);
    const auto twice = round_trip(dtype, once);
    EXPECT_LE(relative_rms(once, twice), relative_rms(x, once) + 1e-9) << to_string(dtype);
  }
}

TEST(Unpack, ScalesOfSixBitsSurviveTheirPacking) {
  uint8_t sc[8] = {0, 1, 15, 16, 31, 32, 62, 63};
  uint8_t mn[8] = {63, 48, 47, 33, 17, 8, 3, 0};
  uint8_t packed[12];
  uint8_t sc2[8];
  uint8_t mn2[8];
  pack_scales(sc, mn, packed);
  unpack_scales(packed, sc2, mn2);
  EXPECT_EQ(0, std::memcmp(sc, sc2, 8));
  EXPECT_EQ(0, std::memcmp(mn, mn2, 8));
}

}  // namespace
}  // namespace maglio

// Model files made on the spot: any geometry, any weight format, weights at random from a seed.
//
// They compute nothing sensible, but they compute: everything that the forward pass does with a
// real file happens with these. The vocabulary is small and works: all 256 bytes, "hi" with its
// merge, the ChatML markers, and plain filler up to vocab_size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/reader.h"
#include "model/config.h"
#include "support/gguf_builder.h"
#include "tensor/dtype.h"

namespace maglio::test {

struct SyntheticModel {
  Config config;
  DType format = DType::Q8_0;
  // The format of one tensor where it differs from `format` (mixed files, as Q4_K_M).
  std::function<std::optional<DType>(std::string_view name)> format_of = {};
  bool tied_head = true;
  bool biases = false;       // of q, k and v
  size_t n_outliers = 0;     // channels of each norm that are 50 times as large
  bool rope_freqs = false;   // Llama 3's rope_freqs.weight
  std::string without = {};  // a tensor that the file shall not have
  uint64_t seed = 1;

  GgufBuilder builder() const;  // for tests that add to the file
  // Requires: the result outlives what is loaded from it.
  std::vector<std::byte> bytes() const { return builder().bytes(); }
};

// 2 layers, 128 wide, 4 heads on 2, head_dim 32, d_ff 256, 320 tokens.
Config tiny_config(Architecture architecture);
// 2 layers whose every row is a multiple of 256, for the K formats: 256 wide, 512 inside.
Config tiny_k_config(Architecture architecture);

}  // namespace maglio::test

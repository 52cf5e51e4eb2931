// Weights at random, straight in the block formats of model files.
//
// Every block is one that a quantizer could have written; the scales are chosen so that the weights
// have about the wanted spread. Same seed, same bytes, on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/dtype.h"

namespace maglio::test {

// splitmix64 (Steele, Lea, Flood 2014).
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  uint64_t bits();
  float uniform();  // [-1, 1)

 private:
  uint64_t state_;
};

// n weights with a standard deviation of about `spread`, stored as dtype.
// Requires: is_weight_format(dtype); n is a multiple of its block.
std::vector<std::byte> random_weights(DType dtype, size_t n, float spread, Dice& dice);

}  // namespace maglio::test

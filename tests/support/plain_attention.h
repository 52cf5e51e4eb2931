// Attention as plain loops: what the kernels and their scheduling must reproduce bit for bit.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace maglio::test {

// Row of keys or of values at a position, [head_dim].
using RowAt = std::function<std::vector<float>(size_t position)>;

// One query over the positions [begin, end), in the order of docs/numerics.md: pages of 64, folded
// ascending. The query is not yet scaled.
std::vector<float> plain_attention(
    std::span<const float> query, const RowAt& key, const RowAt& value, size_t begin, size_t end);

// The same equation in f64 and in no particular order.
std::vector<double> exact_attention(
    std::span<const float> query, const RowAt& key, const RowAt& value, size_t begin, size_t end);

}  // namespace maglio::test

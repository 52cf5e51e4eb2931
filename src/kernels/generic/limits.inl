// What this instruction set can do at most: the yardsticks beside which `maglio bench` prints its
// figures.
//
// Reading: nothing but the loads, with or without prefetching.
// Multiplying: for each class of activations the instruction chain that its inner step is made of
// (simd/*.h), with as many sums as a tile of rows has, the activations' dwords from the first-level
// cache and the weights in registers. What is left out is what a product adds to that: loading
// weights, folding sub-blocks, scales, sums that come and go.
//
// All operands are ones, so the sums count the multiply-adds that were done: the kernel returns
// what it has computed, and the figure cannot be off by a factor. (Random operands ran at the same
// speed.)
#pragma once

#include "kernels/generic/panel.inl"

namespace maglio {
namespace {

template <bool kFetch>
uint32_t read_lines(const std::byte* bytes, size_t n_bytes, size_t ahead) {
  constexpr size_t kSums = 4;
  I32x16 sum[kSums];
#pragma GCC unroll 4
  for (size_t i = 0; i < kSums; ++i) sum[i] = zero_i32();
  size_t at = 0;
  for (; at + kSums * kUnit <= n_bytes; at += kSums * kUnit) {
#pragma GCC unroll 4
    for (size_t i = 0; i < kSums; ++i) {
      if constexpr (kFetch) prefetch(bytes + at + i * kUnit + ahead);
      sum[i] = add_i32(sum[i], load_i32(bytes + at + i * kUnit));
    }
  }
  for (; at < n_bytes; at += kUnit) sum[0] = add_i32(sum[0], load_i32(bytes + at));
  return static_cast<uint32_t>(
      reduce_add_i32(add_i32(add_i32(sum[0], sum[1]), add_i32(sum[2], sum[3]))));
}

inline uint32_t read_bytes(const std::byte* bytes, size_t n_bytes, size_t ahead) {
  return ahead > 0 ? read_lines<true>(bytes, n_bytes, ahead) : read_lines<false>(bytes, n_bytes, 0);
}

// Each chain: one dword of ones as weights and activations hold it; a step; the sum as integers.
struct F32Chain {
  using Sum = F32x16;
  using Weights = F32x16;
  static constexpr uint32_t kOne = 0x3f800000;
  static Weights weights(const void* ones) { return load(static_cast<const float*>(ones)); }
  static Sum zero() { return zero_f32(); }
  static void step(Sum& sum, Weights w, const void* q) {
    float x = 0;
    __builtin_memcpy(&x, q, sizeof x);
    sum = fma(w, broadcast(x), sum);
  }
  static I32x16 add_to(I32x16 total, Sum sum) { return add_i32(total, round_to_i32(sum)); }
};

struct S16Chain {
  using Sum = I32x16;
  using Weights = I32x16;
  static constexpr uint32_t kOne = 0x00010001;
  static Weights weights(const void* ones) { return load_i32(ones); }
  static Sum zero() { return zero_i32(); }
  static void step(Sum& sum, Weights w, const void* q) { add_dot_s16(sum, w, q); }
  static I32x16 add_to(I32x16 total, Sum sum) { return add_i32(total, sum); }
};

struct U8S8Chain {
  using Sum = ByteSum;
  using Weights = I32x16;
  static constexpr uint32_t kOne = 0x01010101;
  static Weights weights(const void* ones) { return load_i32(ones); }
  static Sum zero() { return zero_byte_sum(); }
  static void step(Sum& sum, Weights u, const void* q) { add_dot_u8s8(sum, u, q); }
  static I32x16 add_to(I32x16 total, Sum sum) {
    constexpr uint32_t kOnes[4] = {kOne, kOne, kOne, kOne};
    return fold(total, sum, load_scales_s8(kOnes));
  }
};

// Steps between two looks at the sums: an int16 of a ByteSum grows by two a step.
constexpr size_t kLimitSteps = 256;

template <class Chain>
[[gnu::noinline]] I32x16 run_chain(I32x16 total, const uint32_t* ones) {
  typename Chain::Sum sum[kTileRows];
#pragma GCC unroll 16
  for (size_t r = 0; r < kTileRows; ++r) sum[r] = Chain::zero();
  const typename Chain::Weights w = Chain::weights(ones);
#pragma GCC unroll 2
  for (size_t i = 0; i < kLimitSteps; ++i) {
#pragma GCC unroll 16
    for (size_t r = 0; r < kTileRows; ++r) Chain::step(sum[r], w, ones + i * kTileRows + r);
  }
#pragma GCC unroll 16
  for (size_t r = 0; r < kTileRows; ++r) total = Chain::add_to(total, sum[r]);
  return total;
}

template <class Chain>
uint64_t count_multiply_adds(size_t n_rounds) {
  alignas(64) uint32_t ones[kLimitSteps * kTileRows];
  for (uint32_t& one : ones) one = Chain::kOne;
  uint64_t count = 0;
  for (size_t i = 0; i < n_rounds; ++i) {
    __asm__ volatile("" : : "r"(ones) : "memory");  // for all the compiler knows they have changed
    count += static_cast<uint32_t>(reduce_add_i32(run_chain<Chain>(zero_i32(), ones)));
  }
  return count;
}

constexpr LimitKernels limit_kernels() {
  return {
      .read = read_bytes,
      // In the order of ActivationClass.
      .multiply_adds = {count_multiply_adds<F32Chain>, count_multiply_adds<S16Chain>,
                        count_multiply_adds<U8S8Chain>, count_multiply_adds<U8S8Chain>},
  };
}

}  // namespace
}  // namespace maglio

#include "base/checksum.h"

#include <bit>
#include <cstring>

namespace maglio {
namespace {

constexpr size_t kLanes = 8;
constexpr size_t kStep = kLanes * sizeof(uint64_t);
constexpr uint64_t kOdd = 0x9e3779b97f4a7c15u;  // 2^64 / golden ratio, as splitmix64 takes it

struct Lanes {
  uint64_t v[kLanes];

  void add(const std::byte* step) {
    for (size_t i = 0; i < kLanes; ++i) {
      uint64_t word = 0;
      std::memcpy(&word, step + i * sizeof word, sizeof word);
      v[i] = std::rotl((v[i] ^ word) * kOdd, 29);
    }
  }
};

// splitmix64's last steps (Steele, Lea, Flood 2014): every bit of the result depends on all.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

uint64_t checksum(std::span<const std::byte> bytes, uint64_t seed) {
  Lanes lanes;
  for (size_t i = 0; i < kLanes; ++i) lanes.v[i] = mix(seed + (i + 1) * kOdd);
  size_t at = 0;
  for (; bytes.size() - at >= kStep; at += kStep) lanes.add(bytes.data() + at);
  if (at < bytes.size()) {
    std::byte rest[kStep] = {};
    std::memcpy(rest, bytes.data() + at, bytes.size() - at);
    lanes.add(rest);
  }
  uint64_t sum = mix(bytes.size());  // so that zeros at the end count
  for (const uint64_t lane : lanes.v) sum = mix(sum ^ lane);
  return sum;
}

}  // namespace maglio

// Random numbers whose sequence is a contract: the same seed gives the same numbers everywhere and
// forever, because a seeded story must come out the same.
//
// xoshiro256++ (Blackman & Vigna 2019, public domain), its 256 bits of state filled from the seed
// by splitmix64 (Steele, Lea & Flood 2014), as its authors recommend.
#pragma once

#include <array>
#include <cstdint>

namespace maglio {

class Random {
 public:
  using State = std::array<uint64_t, 4>;

  // Any seed is a good seed, 0 included.
  explicit Random(uint64_t seed);
  // Goes on where another one was.
  explicit Random(const State& state) : state_(state) {}
  const State& state() const { return state_; }

  uint64_t next();

  // A multiple of 2^-24 in [0, 1): the top 24 bits of one next().
  float uniform();

 private:
  State state_;
};

}  // namespace maglio

// A number that says whether bytes are still the same: 64 bits, at the speed of memory.
//
// Eight lanes, lane i over the words i, i + 8, ...: lane = rotate((lane ^ word) * odd constant).
// Each step is a bijection of the lane, so a change within one word is always noticed, any other
// with a probability of 1 - 2^-64 or so. Against accidents, not against forgers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace maglio {

// `seed`: the checksum of what came before, for bytes that lie in several places.
uint64_t checksum(std::span<const std::byte> bytes, uint64_t seed = 0);

}  // namespace maglio

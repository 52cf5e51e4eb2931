// What the system should know of how a mapped part will be read.
#pragma once

#include <cstddef>
#include <span>

namespace maglio {

// Here and there, a few bytes at a time: for each page that is touched nothing around it is read.
// Without that a system reads ahead (8 MB were seen) around each row of an embedding, from a disk
// that has something else to do. Only a hint.
void expect_random_reads(std::span<const std::byte> part) noexcept;

}  // namespace maglio

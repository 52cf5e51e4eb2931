// Which channels of a head RoPE rotates together.
#pragma once

#include <cstdint>

namespace maglio {

// (Su et al. 2021, section 3.2.2): i with i + head_dim / 2 (the Qwen files), or 2i with 2i + 1 (the
// Llama files, whose q and k rows the converter has reordered for it).
enum class RopePairing : uint8_t { half, interleaved };

}  // namespace maglio

// `maglio info --json`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace maglio::gguf {
class File;
}

namespace maglio::app {

// One JSON object: file_bytes, n_tensors, architecture; of a model that can be run also
// context_length, weights, kv_bytes_per_position, available_bytes, plans (as memory_plans has them)
// and fit, else why not ("cannot_run"). What is not known or not possible is null.
std::string info_json(const gguf::File& file, std::optional<uint64_t> available);

}  // namespace maglio::app

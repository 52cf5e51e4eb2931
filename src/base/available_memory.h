// How much memory this process may still take without pushing others, or itself, out of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace maglio {

// Bytes: what the system calls available (MemAvailable: free, or a cache that can be given up), or
// what is left of the smallest limit of a control group, if that is less; caches of files count as
// left there too. Nothing where the system does not say.
// `root` stands for "/" (tests use a made-up one).
std::optional<uint64_t> available_memory(const std::filesystem::path& root = "/");

}  // namespace maglio

// A validator for flags that take an amount of memory.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string_view>

namespace maglio::app {

// "4GB", "800M", "1024", "2GiB": a whole number and B, K, M, G or T, with or without B or iB, in
// either case; powers of 1024. Nothing: it is none, or more than 2^63 - 1.
std::optional<uint64_t> parse_byte_size(std::string_view text);

// Puts the number of bytes in the place of such a text.
CLI::Validator byte_size();

}  // namespace maglio::app

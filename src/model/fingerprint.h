// A number that says which model a file holds, without reading all of it.
//
// What is looked at: the size, the header with all metadata and the table of tensors, and 17 blocks
// of 4 KiB spread evenly over the weights, of every part of the file. Another model, another
// training of it and another quantization differ in all of that; a file in which somebody has
// changed single weights between the samples is not told apart.
#pragma once

#include <cstdint>

#include "gguf/reader.h"

namespace maglio {

enum class Fingerprint : uint8_t {
  content,           // copies of a file are the same model
  content_and_time,  // so that a file written anew is looked at anew
};

// Requires: the file is mapped. A parsed one has no parts, and the fingerprint of nothing.
uint64_t fingerprint(const gguf::File& file, Fingerprint kind);

}  // namespace maglio

// One model file taken apart: everything before the tensor data, checked; the data located, unread.
//
// This is the door: whatever the file claims (counts, lengths, shapes, offsets) is compared with
// the bytes that are there, so that no later code has to. Nothing is allocated for a claim; memory
// grows with what was really read. The time is n log n in the size of the header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gguf/metadata.h"
#include "gguf/tensor_info.h"

namespace maglio::gguf {

struct Header {
  uint32_t version = 0;
  uint64_t alignment = 0;
  uint64_t data_offset = 0;  // of the first tensor's data, from the beginning of the file
  Metadata metadata;
  std::vector<TensorInfo> tensors;  // in the file's order; File checks that names are unique
};

// Borrows the bytes. `source` names them in messages.
// Throws: Error bad_file or unsupported; the codes are listed in docs/decisions/0011.
Header parse_header(std::span<const std::byte> bytes, const std::string& source);

}  // namespace maglio::gguf

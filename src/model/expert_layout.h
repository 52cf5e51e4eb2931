// Where the experts of a model lie in its files, and how large they are in memory.
//
// A layer has three stacks, gate, up and down, of one matrix an expert each. So an expert is three
// parts of a file, at three places. In memory it is one piece: the three matrices packed one after
// the other, gate and up without a gap, as in packed_weights.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gguf/reader.h"
#include "kernels/kernels.h"
#include "ops/expert_source.h"

namespace maglio {

inline constexpr size_t kExpertParts = 3;  // gate, up, down

// A part of one of a model's files.
struct FileRange {
  size_t file_i = 0;
  uint64_t offset = 0;
  size_t n_bytes = 0;
};

// The matrices of one kind of a layer: one for each expert, one behind the other.
struct StackLayout {
  std::string name;   // of the tensor
  WeightMatrix form;  // of one of them, without bytes
  FileRange first;    // the first expert's
  size_t at = 0;      // of its panels in an expert's memory

  FileRange of(uint32_t expert) const {
    return {first.file_i, first.offset + expert * uint64_t{first.n_bytes}, first.n_bytes};
  }
};

struct LayerLayout {
  std::array<StackLayout, kExpertParts> stacks;
  size_t expert_bytes = 0;  // in memory
  size_t n_experts = 0;

  // An expert in that memory. With `memory` null: its form.
  FeedForward at(const std::byte* memory, const Kernels& kernels) const;
  size_t largest_part_bytes() const;  // in the file
};

// Of stacks [n_in, n_out, n_experts], checked. Throws: Error bad_request "ExpertsNotInAFile" for a
// model that was given as bytes.
LayerLayout expert_layout(const gguf::File& file,
                          const std::array<const gguf::TensorInfo*, kExpertParts>& stacks,
                          const Kernels& kernels);

}  // namespace maglio

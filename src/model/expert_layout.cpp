#include "model/expert_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/aligned_bytes.h"
#include "base/escaped.h"
#include "maglio/error.h"
#include "model/packed_weights.h"

namespace maglio {
namespace {

FileRange place_in_file(const gguf::File& file, const gguf::TensorInfo& tensor) {
  for (size_t i = 0; i < file.mappings().size(); ++i) {
    const MappedFile& part = file.mappings()[i];
    if (!part.contains(tensor.data)) continue;
    return {i, static_cast<uint64_t>(tensor.data.data() - part.bytes().data()),
            tensor.data.size() / tensor.dims[2]};
  }
  throw Error(ErrorKind::bad_request, "ExpertsNotInAFile",
              fmt::format("{}: an expert cache reads from a file, and the model was given as bytes "
                          "in memory",
                          escaped(tensor.name)));
}

}  // namespace

FeedForward LayerLayout::at(const std::byte* memory, const Kernels& kernels) const {
  const auto matrix = [&](size_t part) {
    WeightMatrix m = stacks[part].form;
    if (memory != nullptr) m.panels = memory + stacks[part].at;
    return m;
  };
  FeedForward expert;
  std::get<0>(expert.gate_up.parts) = {matrix(0)};
  std::get<1>(expert.gate_up.parts) = {matrix(1)};
  expert.gate_up.fused = fuse(std::array{matrix(0), matrix(1)}, kernels);
  expert.down = {matrix(2)};
  return expert;
}

size_t LayerLayout::largest_part_bytes() const {
  size_t largest = 0;
  for (const StackLayout& stack : stacks) largest = std::max(largest, stack.first.n_bytes);
  return largest;
}

LayerLayout expert_layout(const gguf::File& file,
                          const std::array<const gguf::TensorInfo*, kExpertParts>& stacks,
                          const Kernels& kernels) {
  LayerLayout layer;
  layer.n_experts = static_cast<size_t>(stacks[0]->dims[2]);
  for (size_t part = 0; part < kExpertParts; ++part) {
    const gguf::TensorInfo& tensor = *stacks[part];
    layer.stacks[part] = {.name = std::string(tensor.name),
                          .form = {.dtype = tensor.dtype,
                                   .n_out = static_cast<size_t>(tensor.dims[1]),
                                   .n_in = static_cast<size_t>(tensor.dims[0])},
                          .first = place_in_file(file, tensor),
                          .at = layer.expert_bytes};
    layer.expert_bytes += packed_bytes(layer.stacks[part].form, kernels);
  }
  layer.expert_bytes = round_up(layer.expert_bytes, kCacheLine);
  return layer;
}

}  // namespace maglio

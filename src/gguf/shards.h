// The naming of split files: part 2 of 3 of "qwen3" is called "qwen3-00002-of-00003.gguf".
//
// A part also says of itself: split.no (from 0), split.count, and split.tensors.count (of the whole
// set). The metadata of the model is that of the first part. Source: gguf-split of llama.cpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "gguf/metadata.h"

namespace maglio::gguf {

// What a file's name says.
struct ShardName {
  std::filesystem::path prefix;  // with the folder, without "-00002-of-00003.gguf"
  uint32_t number = 0;           // from 1
  uint32_t count = 0;

  std::filesystem::path path_of(uint32_t part_number) const;
};

// Nothing if the name is not that of a part.
std::optional<ShardName> parse_shard_name(const std::filesystem::path& path);

// What a file's metadata says.
struct ShardKeys {
  uint64_t number = 1;  // from 1; the file's split.no counts from 0
  uint64_t count = 1;   // 1: the file is whole
  std::optional<uint64_t> n_tensors;
};

// Throws: Error bad_file "WrongShard" where the numbers do not fit each other.
ShardKeys shard_keys(const Metadata& metadata);

}  // namespace maglio::gguf

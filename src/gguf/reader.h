// A model file in memory: its metadata and its tensors, wherever they lie.
//
// Opening maps the file (or all files of a split set, whichever part is named), checks everything
// before the tensor data, and reads none of the data: it takes milliseconds. Tensors are views of
// the mapping, in the format that the file stores; nothing is widened or copied.
//
//   const gguf::File file = gguf::File::open("qwen3-0.6b-q8_0.gguf");
//   const gguf::TensorInfo& table = file.require("token_embd.weight");
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "gguf/metadata.h"
#include "gguf/tensor_info.h"

namespace maglio::gguf {

// All views that it gives are valid as long as it lives (moving it keeps them valid).
// Immutable, so safe for many threads.
class File {
 public:
  // Throws: Error bad_file, unsupported or io; the message names the file (of a set: the part).
  static File open(const std::filesystem::path& path);

  // The same for one whole file that is in memory already; `source` names it in messages.
  // Requires: the bytes outlive the File and begin at a multiple of 8.
  static File parse(std::span<const std::byte> bytes, std::string source = "(memory)");

  const Metadata& metadata() const { return metadata_; }
  std::span<const TensorInfo> tensors() const { return tensors_; }  // in the order of the files

  const TensorInfo* find(std::string_view name) const;

  // Throws: Error bad_file "MissingTensor"; io "FileShrank" if the file is no longer all there.
  const TensorInfo& require(std::string_view name) const;

  // Throws: Error io "FileShrank" if the file is no longer all there.
  void require_full_size() const;

  // Hints about a part of a tensor's data: read it ahead; give its memory back (it is read again
  // when touched again). They do nothing for bytes that are no mapping.
  void prefetch(std::span<const std::byte> part) const;
  void drop_pages(std::span<const std::byte> part) const;

  // The mapped files, in the order of the parts; none where the bytes were given.
  std::span<const MappedFile> mappings() const { return mappings_; }

  uint32_t version() const { return version_; }
  uint64_t alignment() const { return alignment_; }
  size_t n_parts() const { return n_parts_; }
  uint64_t n_bytes() const { return n_bytes_; }  // of all parts

 private:
  File() = default;
  void index_names();
  const MappedFile* mapping_of(std::span<const std::byte> part) const;

  std::vector<MappedFile> mappings_;
  Metadata metadata_;
  std::vector<TensorInfo> tensors_;
  std::vector<uint32_t> by_name_;  // tensors sorted by name; not a hash: no file can make it slow
  std::optional<uint64_t> n_tensors_stated_;  // split.tensors.count
  uint32_t version_ = 0;
  uint64_t alignment_ = 0;
  uint64_t n_bytes_ = 0;
  size_t n_parts_ = 1;
};

}  // namespace maglio::gguf

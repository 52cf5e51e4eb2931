// Reading parts of a model's files: what an expert store reads with, and tests put something else
// in the place of.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/positional_file.h"
#include "gguf/reader.h"
#include "model/expert_layout.h"

namespace maglio {

// Thread-safe.
class ExpertReader {
 public:
  virtual ~ExpertReader() = default;
  // Requires: a buffer as PositionalFile::read wants it. Throws: Error io.
  virtual PartRead read(const FileRange& range, std::span<std::byte> buffer) = 0;
};

// Of the files that are mapped; it outlives them.
class FileExpertReader final : public ExpertReader {
 public:
  // Throws: Error io "CannotOpenFile".
  FileExpertReader(const gguf::File& file, ReadMode mode) {
    for (const MappedFile& part : file.mappings()) {
      files_.push_back(PositionalFile::open(part, mode));
    }
  }
  PartRead read(const FileRange& range, std::span<std::byte> buffer) override {
    return files_[range.file_i].read(range.offset, range.n_bytes, buffer);
  }

 private:
  std::vector<PositionalFile> files_;
};

// Makes the reader of a model; empty: a FileExpertReader.
using MakeExpertReader =
    std::function<std::unique_ptr<ExpertReader>(const gguf::File& file, ReadMode mode)>;

}  // namespace maglio

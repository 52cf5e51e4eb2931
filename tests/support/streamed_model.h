// A mixture in a file, to be run with its experts on disk; and readers that count, or fail.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "gguf/reader.h"
#include "maglio/error.h"
#include "model/expert_reader.h"
#include "model/transformer.h"
#include "support/synthetic_model.h"
#include "support/temp_dir.h"

namespace maglio::test {

// What a reader has done, and what it shall do; outlives it.
struct ReaderScript {
  std::atomic<uint64_t> n_reads{0};
  std::atomic<uint64_t> n_bytes{0};  // transferred
  // The reads from this one on fail, so many of them; counted from 0.
  std::atomic<uint64_t> fails_from{UINT64_MAX};
  std::atomic<uint64_t> n_failures{1};

  std::mutex mutex;
  std::map<std::pair<size_t, uint64_t>, size_t> times;  // that a place (file, offset) was read
};

class ScriptedReader final : public ExpertReader {
 public:
  ScriptedReader(const gguf::File& file, ReadMode mode, ReaderScript& script)
      : file_(file, mode), script_(script) {}

  PartRead read(const FileRange& range, std::span<std::byte> buffer) override {
    const uint64_t i = script_.n_reads++;
    if (i >= script_.fails_from && i - script_.fails_from < script_.n_failures) {
      throw Error(ErrorKind::io, "CannotReadFile", "the disk has gone");
    }
    const PartRead part = file_.read(range, buffer);
    script_.n_bytes += part.n_transferred;
    const std::scoped_lock lock(script_.mutex);
    ++script_.times[{range.file_i, range.offset}];
    return part;
  }

 private:
  FileExpertReader file_;
  ReaderScript& script_;
};

inline MakeExpertReader scripted_by(ReaderScript& script) {
  return [&script](const gguf::File& file, ReadMode mode) {
    return std::make_unique<ScriptedReader>(file, mode, script);
  };
}

// 3 layers of 100 experts, 4 for each token; as small as the format allows.
inline SyntheticModel hundred_experts(DType format = DType::Q8_0) {
  Config c = format == DType::Q8_0 ? tiny_config(Architecture::qwen3moe)
                                   : tiny_k_config(Architecture::qwen3moe);
  c.n_layers = 3;
  c.n_experts = 100;
  c.n_experts_used = 4;
  c.d_ff = format == DType::Q8_0 ? 64 : 256;
  return {.config = c, .format = format};
}

}  // namespace maglio::test

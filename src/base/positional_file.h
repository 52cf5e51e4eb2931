// A file of which parts are read at known places, into the caller's memory, by any thread.
//
// Direct reads go from the disk to that memory and leave nothing behind: no copy (a quarter of a
// second of processor time a gigabyte, measured), and no second cache that pushes useful pages out
// where memory is short. Disks want whole blocks for that, so a few bytes around the part are read
// too. Where a file system knows no direct reads, buffered ones are used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "base/mapped_file.h"

namespace maglio {

enum class ReadMode : uint8_t { direct, buffered };

// What a read brought.
struct PartRead {
  std::span<const std::byte> bytes;  // the part, inside the buffer
  uint64_t n_transferred = 0;        // with the blocks around it
};

// Owner, movable. Thread-safe while nobody moves it.
class PositionalFile {
 public:
  // Every disk in use has blocks that divide this.
  static constexpr size_t kBlock = 4096;
  // Of a buffer for parts of n bytes, which has to begin at a block.
  static constexpr size_t buffer_bytes(size_t n) { return (n + 2 * kBlock - 2) / kBlock * kBlock; }

  // The very file that is mapped, whatever its name stands for by now.
  // Throws: Error io "CannotOpenFile".
  static PositionalFile open(const MappedFile& file, ReadMode mode);

  PositionalFile(PositionalFile&& other) noexcept;
  PositionalFile& operator=(PositionalFile&& other) noexcept;
  ~PositionalFile();

  ReadMode mode() const { return mode_; }

  // Bytes [offset, offset + n). Requires: room for them in the buffer as buffer_bytes says.
  // Throws: Error io "CannotReadFile", "ShortRead" where the file ends before.
  PartRead read(uint64_t offset, size_t n, std::span<std::byte> buffer) const;

 private:
  PositionalFile(int descriptor, ReadMode mode, std::filesystem::path path)
      : descriptor_(descriptor), mode_(mode), path_(std::move(path)) {}

  int descriptor_ = -1;
  ReadMode mode_ = ReadMode::buffered;
  std::filesystem::path path_;  // for messages
};

}  // namespace maglio

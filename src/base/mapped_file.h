// A file mapped into memory, read-only, as a value.
//
// The bytes appear when they are touched (a page at a time) and the system may forget them again;
// nothing is copied. The mapping lives as long as the object; moving the object does not move it.
//
// A mapping is a promise by whoever owns the file: when another process cuts the file short,
// touching the lost pages ends this process (SIGBUS). require_full_size() asks again, so that a
// loader can refuse instead; it cannot help against a cut between the question and the read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace maglio {

// Thread-safe once constructed, as long as nobody moves or assigns it.
class MappedFile {
 public:
  // Throws: Error io "CannotOpenFile" / "CannotMapFile", bad_file "NotAFile" for folders, pipes and
  // devices. An empty file maps to no bytes.
  static MappedFile open(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::filesystem::path& path() const { return path_; }
  int descriptor() const { return descriptor_; }  // for reading it besides; it stays ours

  // True if `part` lies inside this mapping.
  bool contains(std::span<const std::byte> part) const;

  // Asks the system to read the part ahead. Only a hint. Requires: contains(part).
  void prefetch(std::span<const std::byte> part) const noexcept;

  // Gives back the memory of the pages that the part touches, and of those before it that came with
  // them; they are read again when touched again, so this never changes what the bytes say.
  // Requires: contains(part).
  void drop(std::span<const std::byte> part) const noexcept;

  // Maps a part over memory of the caller's, which must be whole pages and stay reserved.
  // Requires: offset is a multiple of a page. Throws: Error io "CannotMapFile".
  void map_over(std::byte* place, size_t offset, size_t n) const;

  // When the file was last written, in ns since 1970. Throws: Error io "CannotOpenFile".
  int64_t modified_ns() const;

  // Throws: Error io "FileShrank" if the file is now shorter than what was mapped.
  void require_full_size() const;

 private:
  MappedFile(int descriptor, std::span<const std::byte> bytes, std::filesystem::path path)
      : descriptor_(descriptor), bytes_(bytes), path_(std::move(path)) {}
  void close() noexcept;

  int descriptor_ = -1;  // kept open for questions; -1: moved from
  std::span<const std::byte> bytes_;
  std::filesystem::path path_;
};

}  // namespace maglio

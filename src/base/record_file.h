// A file of records that grows at its end, and of which only whole records are believed.
//
//   [ head, the caller's ] [ size | checksum | payload ] [ size | checksum | payload ] ...
//
// A checksum continues the one before it, so that a record counts only behind those that it was
// written behind. When a writer dies in the middle, the file ends in half a record: readers stop
// there, and the next writer cuts it off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

namespace maglio {

// Where a reader stands, or where a writer goes on.
struct RecordPosition {
  uint64_t byte = 0;
  uint64_t chain = 0;  // the checksum of everything before
};

// Behind the head. Requires: it is all there.
RecordPosition first_record(std::span<const std::byte> head);

// The payload of the record at the position, which moves behind it. Nothing: the file ends here, or
// what follows is no whole record; the position stays.
std::optional<std::span<const std::byte>> next_record(std::span<const std::byte> file,
                                                      RecordPosition& at);

// The same where only the size of the record is believed, not what it holds: to tell what lies
// behind a fault.
std::optional<std::span<const std::byte>> next_claimed_record(std::span<const std::byte> file,
                                                              RecordPosition& at);

// An open file, its end and the right to write there: one writer at a time, others are refused.
// Readable by its owner only, for what people say is nobody else's.
class RecordFile {
 public:
  // Opens the file, or makes it, without reading or writing anything.
  // Throws: Error io "CannotOpenFile", "FileInUse".
  static RecordFile open(const std::filesystem::path& path);
  // A new file with that head. It gets its name, in place of any file that has it, from give_name;
  // without that it vanishes. Throws: Error io "CannotWriteFile".
  static RecordFile create(const std::filesystem::path& path, std::span<const std::byte> head);

  RecordFile(RecordFile&& other) noexcept;
  RecordFile& operator=(RecordFile&& other) noexcept;
  ~RecordFile();

  // Begins anew with a head, or goes on behind a record: whatever follows is cut off.
  // Throws: Error io "CannotWriteFile".
  void begin(std::span<const std::byte> head);
  void go_on(RecordPosition at);

  // Throws: Error io "CannotWriteFile"; go_on(end()) as it was before takes the file back there.
  void append(std::span<const std::byte> payload);
  RecordPosition end() const { return end_; }

  void give_name();

 private:
  RecordFile(int descriptor, std::filesystem::path path)
      : descriptor_(descriptor), path_(std::move(path)) {}
  void write(std::span<const std::byte> bytes);
  void close() noexcept;

  int descriptor_ = -1;
  std::filesystem::path path_;
  std::filesystem::path unfinished_;  // its name until give_name; empty: it has its own
  RecordPosition end_;
};

}  // namespace maglio

// A turn of a conversation as bytes, and back. All numbers are 64 bits, little-endian; a text is
// its length and its bytes; a list is its length and its items.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "chat/snapshot.h"

namespace maglio::chat {

class RecordBytes {
 public:
  RecordBytes& number(uint64_t n);
  RecordBytes& text(std::string_view text);
  RecordBytes& raw(std::span<const std::byte> bytes);
  // Room for n bytes, for the caller to fill; valid until the next call.
  std::span<std::byte> room(size_t n);

  const std::vector<std::byte>& bytes() const& { return bytes_; }
  std::vector<std::byte> bytes() && { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// What is new beside `before`, and the length of the cache.
void write_turn(const Snapshot& before, const Snapshot& now, size_t cache_length, RecordBytes& out);

// Brings a snapshot up to date; returns the length of the cache.
// Throws: Error bad_file "Truncated", "DamagedConversation" for what write_turn would not write.
size_t read_turn(ByteReader& in, size_t vocab_size, Snapshot& snapshot);

}  // namespace maglio::chat

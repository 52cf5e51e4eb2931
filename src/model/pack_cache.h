// Packed weights kept in a file, so that the next start takes them from there.
//
//   byte  0           80                       a multiple of 2 MiB
//         [ header ][ a checksum for each piece ][ panels ]
//
// The panels lie as they do in memory; the file is mapped, so processes that use one model share
// them. They are the same for every instruction set. A cache is never trusted: it is used only if
// its own header is whole, it was made of the very file that is loaded (size, time of change,
// samples of the content) by a program that packs alike (the place of every run of rows, and a
// sample of packing in each format), nothing is missing, and every piece has its checksum. Reading
// it all for that costs about as much as generating one token.
//
// A new file gets its name when it is complete, so others never see half of one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/page_range.h"
#include "base/thread_pool.h"
#include "gguf/reader.h"

namespace maglio {

// A run of panels: where it lies among them.
struct PackPiece {
  size_t offset = 0;
  size_t size = 0;
};

// What a cache has to have been made of.
struct PackCacheKey {
  uint64_t source = 0;  // fingerprint of the model file and its time of change
  uint64_t layout = 0;  // of the program's way of packing it
};

// Where the cache of a model file is kept: in the folder, or beside the model where that is "".
std::filesystem::path pack_cache_path(const gguf::File& file, const std::filesystem::path& folder);

struct PackCacheLookup {
  std::optional<MappedFile> file;  // nothing: not there, or not to be used,
  std::string why_not;             // and then why
};

// Shows the panels of the cache in the range if they are what they should be. Reads all of them.
// Requires: pieces lie one after the other from 0, in any order; room for them in the range.
// Throws: Error io where a file is there and cannot be opened.
PackCacheLookup find_pack_cache(const std::filesystem::path& path,
                                const PackCacheKey& key,
                                std::span<const PackPiece> pieces,
                                PageRange& range,
                                ThreadPool& pool);

// A cache in the making. What goes wrong with the disk is told at the end: the work can go on
// without a cache. An unfinished file vanishes.
class PackCacheWriter {
 public:
  PackCacheWriter(std::filesystem::path path, const PackCacheKey& key, std::vector<PackPiece>);
  ~PackCacheWriter();
  PackCacheWriter(const PackCacheWriter&) = delete;
  PackCacheWriter& operator=(const PackCacheWriter&) = delete;

  // The panels of a piece. For several threads, each with pieces of its own.
  void put(size_t piece_i, std::span<const std::byte> panels);

  // Gives the file its name. Returns why there is none, if so.
  std::optional<std::string> finish();

 private:
  void open();
  void name_file();
  void write(std::span<const std::byte> bytes, uint64_t at);
  void note_failure(const char* action);

  std::filesystem::path path_;
  PackCacheKey key_;
  std::vector<PackPiece> pieces_;
  std::vector<uint64_t> sums_;
  int descriptor_ = -1;
  std::filesystem::path unfinished_;  // its name until it is complete; empty: it has none
  std::atomic<int> failed_{0};        // errno of the first failure
  const char* failed_action_ = "";
};

}  // namespace maglio

#include "model/pack_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/aligned_bytes.h"
#include "base/checksum.h"

namespace maglio {
namespace {

constexpr char kMagic[16] = "maglio panels\n";
constexpr uint64_t kVersion = 1;  // of this file's own form

struct Header {
  char magic[16];
  uint64_t version;
  uint64_t source;
  uint64_t layout;
  uint64_t n_pieces;
  uint64_t panels_bytes;
  uint64_t panels_at;
  uint64_t reserved;
  uint64_t sum;  // of the fields before and of the pieces' checksums
};
static_assert(sizeof(Header) == 80);

size_t panels_bytes(std::span<const PackPiece> pieces) {
  size_t sum = 0;
  for (const PackPiece& piece : pieces) sum += piece.size;
  return sum;
}

size_t panels_at(size_t n_pieces) {
  return round_up(sizeof(Header) + n_pieces * sizeof(uint64_t), kHugePage);
}

Header make_header(const PackCacheKey& key,
                   std::span<const PackPiece> pieces,
                   std::span<const uint64_t> sums) {
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kVersion;
  header.source = key.source;
  header.layout = key.layout;
  header.n_pieces = pieces.size();
  header.panels_bytes = panels_bytes(pieces);
  header.panels_at = panels_at(sums.size());
  const auto fields = std::as_bytes(std::span(&header, 1)).first(offsetof(Header, sum));
  header.sum = checksum(std::as_bytes(sums), checksum(fields));
  return header;
}

// The checksums of a whole file that belongs to the key; otherwise why it is not to be used. What
// the file says is compared with what it has to say and never believed.
std::string read_sums(std::span<const std::byte> file,
                      const PackCacheKey& key,
                      std::span<const PackPiece> pieces,
                      std::vector<uint64_t>& sums) {
  Header found{};
  if (file.size() < sizeof found) return "is cut short";
  std::memcpy(&found, file.data(), sizeof found);
  if (std::memcmp(found.magic, kMagic, sizeof kMagic) != 0) return "holds no packed weights";
  if (found.version != kVersion) return "was made by another version of maglio";
  if (found.source != key.source) return "was made from another file";
  if (found.layout != key.layout) return "was packed otherwise, or holds other weights";
  sums.resize(pieces.size());
  if (file.size() - sizeof found < sums.size() * sizeof sums[0]) return "is cut short";
  std::memcpy(sums.data(), file.data() + sizeof found, sums.size() * sizeof sums[0]);
  const Header expected = make_header(key, pieces, sums);
  if (std::memcmp(&found, &expected, sizeof found) != 0) return "is damaged";
  if (file.size() != expected.panels_at + expected.panels_bytes) return "is cut short";
  return "";
}

bool pieces_are_whole(const std::byte* panels,
                      std::span<const PackPiece> pieces,
                      std::span<const uint64_t> sums,
                      ThreadPool& pool) {
  std::atomic<bool> whole{true};
  pool.parallel_for(pieces.size(), 1, [&](size_t begin, size_t end, size_t) {
    for (size_t i = begin; i < end; ++i) {
      if (checksum({panels + pieces[i].offset, pieces[i].size}) != sums[i]) whole = false;
    }
  });
  return whole;
}

}  // namespace

std::filesystem::path pack_cache_path(const gguf::File& file, const std::filesystem::path& folder) {
  const std::filesystem::path& model = file.mappings().front().path();
  std::filesystem::path name = model.filename();
  name += ".packed";
  return (folder.empty() ? model.parent_path() : folder) / name;
}

PackCacheLookup find_pack_cache(const std::filesystem::path& path,
                                const PackCacheKey& key,
                                std::span<const PackPiece> pieces,
                                PageRange& range,
                                ThreadPool& pool) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  MappedFile file = MappedFile::open(path);
  std::vector<uint64_t> sums;
  if (const std::string why = read_sums(file.bytes(), key, pieces, sums); !why.empty()) {
    return {std::nullopt, why};
  }
  const Header header = make_header(key, pieces, sums);
  range.show(file, header.panels_at, header.panels_bytes);
  if (!pieces_are_whole(range.data(), pieces, sums, pool)) return {std::nullopt, "is damaged"};
  return {std::move(file), ""};
}

PackCacheWriter::PackCacheWriter(std::filesystem::path path,
                                 const PackCacheKey& key,
                                 std::vector<PackPiece> pieces)
    : path_(std::move(path)), key_(key), pieces_(std::move(pieces)), sums_(pieces_.size()) {
  open();
  if (descriptor_ < 0) {
    note_failure("be made");
    return;
  }
  // A full disk shows before the work; a file system that cannot promise room shows it later.
  const Header header = make_header(key_, pieces_, sums_);
  const auto size = static_cast<off_t>(header.panels_at + header.panels_bytes);
  if (::fallocate(descriptor_, 0, 0, size) != 0 && errno != EOPNOTSUPP) note_failure("be written");
}

// Without a name where the system can do that: then nothing is left behind, whatever happens.
void PackCacheWriter::open() {
  const std::filesystem::path folder = path_.has_parent_path() ? path_.parent_path() : ".";
#ifdef O_TMPFILE
  descriptor_ = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0644);
  if (descriptor_ >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return;
#endif
  name_file();
  descriptor_ = ::open(unfinished_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644);
  if (descriptor_ < 0) unfinished_.clear();
}

void PackCacheWriter::name_file() {
  unfinished_ = path_;
  unfinished_ += fmt::format(".{}.unfinished", ::getpid());
}

PackCacheWriter::~PackCacheWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!unfinished_.empty()) ::unlink(unfinished_.c_str());
}

void PackCacheWriter::put(size_t piece_i, std::span<const std::byte> panels) {
  sums_[piece_i] = checksum(panels);
  write(panels, panels_at(pieces_.size()) + pieces_[piece_i].offset);
}

void PackCacheWriter::write(std::span<const std::byte> bytes, uint64_t at) {
  while (!bytes.empty() && failed_ == 0) {
    const ssize_t n = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return note_failure("be written");
    bytes = bytes.subspan(static_cast<size_t>(n));
    at += static_cast<uint64_t>(n);
  }
}

void PackCacheWriter::note_failure(const char* action) {
  int none = 0;
  const int error = errno != 0 ? errno : EIO;
  if (failed_.compare_exchange_strong(none, error)) failed_action_ = action;
}

std::optional<std::string> PackCacheWriter::finish() {
  const Header header = make_header(key_, pieces_, sums_);
  write(std::as_bytes(std::span(sums_)), sizeof header);
  write(std::as_bytes(std::span(&header, 1)), 0);
  if (failed_ == 0 && unfinished_.empty()) {
    name_file();
    const std::string opened = fmt::format("/proc/self/fd/{}", descriptor_);
    if (::linkat(AT_FDCWD, opened.c_str(), AT_FDCWD, unfinished_.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      note_failure("be named");
      unfinished_.clear();
    }
  }
  if (failed_ == 0 && ::rename(unfinished_.c_str(), path_.c_str()) != 0) note_failure("be named");
  if (failed_ == 0) {
    unfinished_.clear();
    return std::nullopt;
  }
  return fmt::format("cannot {}: {}", failed_action_, std::generic_category().message(failed_));
}

}  // namespace maglio

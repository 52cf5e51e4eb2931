#include "base/record_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "base/bytes.h"
#include "base/checksum.h"
#include "maglio/error.h"

namespace maglio {
namespace {

struct RecordHead {
  uint64_t size;
  uint64_t sum;  // of the size and the payload, seeded with the chain before
};

uint64_t record_sum(std::span<const std::byte> payload, uint64_t chain) {
  const uint64_t size = payload.size();
  return checksum(payload, checksum(std::as_bytes(std::span(&size, 1)), chain));
}

[[noreturn]] void fail(const char* code, const std::filesystem::path& path, const char* action) {
  throw Error(ErrorKind::io, code,
              fmt::format("{}: cannot {}: {}", path.string(), action,
                          std::generic_category().message(errno)));
}

void lock(int descriptor, const std::filesystem::path& path) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return;
  if (errno != EWOULDBLOCK) fail("CannotOpenFile", path, "lock");
  throw Error(ErrorKind::io, "FileInUse",
              fmt::format("{}: another conversation is being kept in this file: end it, or take "
                          "another name",
                          path.string()));
}

}  // namespace

RecordPosition first_record(std::span<const std::byte> head) {
  return {head.size(), checksum(head)};
}

std::optional<std::span<const std::byte>> next_record(std::span<const std::byte> file,
                                                      RecordPosition& at) {
  RecordPosition end = at;
  const auto payload = next_claimed_record(file, end);
  if (!payload || record_sum(*payload, at.chain) != end.chain) return std::nullopt;
  at = end;
  return payload;
}

std::optional<std::span<const std::byte>> next_claimed_record(std::span<const std::byte> file,
                                                              RecordPosition& at) {
  if (at.byte > file.size() || file.size() - at.byte < sizeof(RecordHead)) return std::nullopt;
  const std::span<const std::byte> rest = file.subspan(at.byte);
  const auto size = load_le<uint64_t>(rest.data());
  const auto sum = load_le<uint64_t>(rest.data() + sizeof size);
  if (size > rest.size() - sizeof(RecordHead)) return std::nullopt;
  at = {at.byte + sizeof(RecordHead) + size, sum};
  return rest.subspan(sizeof(RecordHead), size);
}

RecordFile RecordFile::open(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
  if (descriptor < 0) fail("CannotOpenFile", path, "open");
  RecordFile file(descriptor, path);
  lock(descriptor, path);
  return file;
}

RecordFile RecordFile::create(const std::filesystem::path& path, std::span<const std::byte> head) {
  // A name that is taken may be any file's, but a device or a pipe must never give way to one.
  std::error_code none;
  const auto taken = std::filesystem::status(path, none);
  if (std::filesystem::exists(taken) && !std::filesystem::is_regular_file(taken)) {
    throw Error(ErrorKind::io, "CannotWriteFile",
                fmt::format("{}: cannot be replaced: expected a file or nothing, found a {}: take "
                            "another name",
                            path.string(),
                            std::filesystem::is_directory(taken) ? "folder" : "pipe or device"));
  }
  std::string unfinished = path.string() + ".XXXXXX";
  const std::filesystem::path folder = path.parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, none)) {
    throw Error(ErrorKind::io, "CannotWriteFile",
                fmt::format("{}: cannot be made: there is no folder '{}': make it first, or take "
                            "another name",
                            path.string(), folder.string()));
  }
  const int descriptor = ::mkostemp(unfinished.data(), O_CLOEXEC);
  if (descriptor < 0) fail("CannotWriteFile", path, "be made");
  RecordFile file(descriptor, path);
  file.unfinished_ = std::move(unfinished);
  lock(descriptor, path);
  file.begin(head);
  return file;
}

RecordFile::RecordFile(RecordFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      unfinished_(std::exchange(other.unfinished_, {})),
      end_(other.end_) {}

RecordFile& RecordFile::operator=(RecordFile&& other) noexcept {
  if (this == &other) return *this;
  close();
  descriptor_ = std::exchange(other.descriptor_, -1);
  path_ = std::move(other.path_);
  unfinished_ = std::exchange(other.unfinished_, {});
  end_ = other.end_;
  return *this;
}

RecordFile::~RecordFile() {
  close();
}

void RecordFile::close() noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!unfinished_.empty()) ::unlink(unfinished_.c_str());
}

void RecordFile::begin(std::span<const std::byte> head) {
  go_on({});
  write(head);
  end_ = first_record(head);
}

void RecordFile::go_on(RecordPosition at) {
  if (::ftruncate(descriptor_, static_cast<off_t>(at.byte)) != 0) {
    fail("CannotWriteFile", path_, "be cut");
  }
  end_ = at;
}

void RecordFile::append(std::span<const std::byte> payload) {
  const RecordHead head{payload.size(), record_sum(payload, end_.chain)};
  const uint64_t begin = end_.byte;
  write(std::as_bytes(std::span(&head, 1)));
  end_.byte += sizeof head;
  write(payload);
  end_ = {begin + sizeof head + payload.size(), head.sum};
}

// At the end; does not move it.
void RecordFile::write(std::span<const std::byte> bytes) {
  uint64_t at = end_.byte;
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail("CannotWriteFile", path_, "be written");
    bytes = bytes.subspan(static_cast<size_t>(n));
    at += static_cast<uint64_t>(n);
  }
}

void RecordFile::give_name() {
  if (::fsync(descriptor_) != 0) fail("CannotWriteFile", path_, "be written");
  if (::rename(unfinished_.c_str(), path_.c_str()) != 0) fail("CannotWriteFile", path_, "be named");
  unfinished_.clear();
}

}  // namespace maglio

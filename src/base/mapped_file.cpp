#include "base/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include "maglio/error.h"

namespace maglio {
namespace {

Error system_error(const char* code, const std::filesystem::path& path, const char* action) {
  return Error(ErrorKind::io, code,
               fmt::format("{}: cannot {}: {}", path.string(), action,
                           std::generic_category().message(errno)));
}

struct stat examine(int descriptor, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) throw system_error("CannotOpenFile", path, "examine");
  return status;
}

// Touching a page maps its neighbours too, as many as lie in the same 64 KiB (Linux's default). A
// part that is dropped would leave those of the part before it behind: 5 to 10 % of a file that is
// read and dropped in runs of half a megabyte.
constexpr size_t kFaultAround = size_t{64} << 10;

// madvise wants whole pages: the pages that the part touches.
void advise(std::span<const std::byte> part, int advice) noexcept {
  if (part.empty()) return;
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(part.data()) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(part.data()) + part.size();
  ::madvise(reinterpret_cast<void*>(begin), end - begin, advice);
}

}  // namespace

MappedFile MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: a named pipe without a writer must be refused below, not waited for.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) throw system_error("CannotOpenFile", path, "open");
  MappedFile file(descriptor, {}, path);

  const struct stat status = examine(descriptor, path);
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorKind::bad_file, "NotAFile",
                fmt::format("{}: expected a file, found {}", path.string(),
                            S_ISDIR(status.st_mode) ? "a folder" : "a pipe or device"));
  }
  const auto size = static_cast<uint64_t>(status.st_size);
  if (size > SIZE_MAX) throw system_error("CannotMapFile", path, "map so large a file");
  if (size == 0) return file;
  void* address = ::mmap(nullptr, static_cast<size_t>(size), PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address == MAP_FAILED) throw system_error("CannotMapFile", path, "map");
  file.bytes_ = {static_cast<const std::byte*>(address), static_cast<size_t>(size)};
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      bytes_(std::exchange(other.bytes_, {})),
      path_(std::move(other.path_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    close();
    descriptor_ = std::exchange(other.descriptor_, -1);
    bytes_ = std::exchange(other.bytes_, {});
    path_ = std::move(other.path_);
  }
  return *this;
}

MappedFile::~MappedFile() {
  close();
}

void MappedFile::close() noexcept {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  if (descriptor_ >= 0) ::close(descriptor_);
  bytes_ = {};
  descriptor_ = -1;
}

bool MappedFile::contains(std::span<const std::byte> part) const {
  const auto begin = reinterpret_cast<uintptr_t>(bytes_.data());
  const auto part_begin = reinterpret_cast<uintptr_t>(part.data());
  return part_begin >= begin && part_begin - begin <= bytes_.size() &&
         part.size() <= bytes_.size() - (part_begin - begin);
}

void MappedFile::prefetch(std::span<const std::byte> part) const noexcept {
  advise(part, MADV_WILLNEED);
}

void MappedFile::drop(std::span<const std::byte> part) const noexcept {
  if (part.empty()) return;
  const auto before = static_cast<size_t>(part.data() - bytes_.data());
  const size_t around = std::min(before, kFaultAround);
  advise({part.data() - around, part.size() + around}, MADV_DONTNEED);
}

void MappedFile::map_over(std::byte* place, size_t offset, size_t n) const {
  if (n == 0) return;
  void* const found =
      ::mmap(place, n, PROT_READ, MAP_SHARED | MAP_FIXED, descriptor_, static_cast<off_t>(offset));
  if (found == MAP_FAILED) throw system_error("CannotMapFile", path_, "map");
}

int64_t MappedFile::modified_ns() const {
  const struct timespec when = examine(descriptor_, path_).st_mtim;
  return int64_t{when.tv_sec} * 1'000'000'000 + when.tv_nsec;
}

void MappedFile::require_full_size() const {
  const struct stat status = examine(descriptor_, path_);
  if (static_cast<uint64_t>(status.st_size) < bytes_.size()) {
    throw Error(ErrorKind::io, "FileShrank",
                fmt::format("{}: the file had {} bytes when it was opened and has {} now; it must "
                            "not be changed while it is in use",
                            path_.string(), bytes_.size(), status.st_size));
  }
}

}  // namespace maglio

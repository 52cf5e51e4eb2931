#include "base/positional_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/aligned_bytes.h"
#include "maglio/error.h"

namespace maglio {
namespace {

// A second descriptor of an open file. By its number, since its name may be another file's now.
int reopen(int descriptor, int flags) {
  const std::string itself = fmt::format("/proc/self/fd/{}", descriptor);
  return ::open(itself.c_str(), O_RDONLY | O_CLOEXEC | flags);
}

// Some file systems open a file for direct reads and then refuse to read it so.
bool reads_directly(int descriptor) {
  const AlignedBytes room(2 * PositionalFile::kBlock);
  const auto address = reinterpret_cast<uintptr_t>(room.data());
  std::byte* const block = room.data() + round_up(address, PositionalFile::kBlock) - address;
  return ::pread(descriptor, block, PositionalFile::kBlock, 0) >= 0;
}

}  // namespace

PositionalFile PositionalFile::open(const MappedFile& file, ReadMode mode) {
#ifdef O_DIRECT
  if (mode == ReadMode::direct) {
    PositionalFile direct(reopen(file.descriptor(), O_DIRECT), ReadMode::direct, file.path());
    if (direct.descriptor_ >= 0 && reads_directly(direct.descriptor_)) return direct;
  }
#endif
  const int descriptor = ::fcntl(file.descriptor(), F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0) {
    throw Error(ErrorKind::io, "CannotOpenFile",
                fmt::format("{}: cannot open: {}", file.path().string(),
                            std::generic_category().message(errno)));
  }
  return {descriptor, ReadMode::buffered, file.path()};
}

PositionalFile::PositionalFile(PositionalFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      mode_(other.mode_),
      path_(std::move(other.path_)) {}

PositionalFile& PositionalFile::operator=(PositionalFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(mode_, other.mode_);
  std::swap(path_, other.path_);
  return *this;
}

PositionalFile::~PositionalFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

PartRead PositionalFile::read(uint64_t offset, size_t n, std::span<std::byte> buffer) const {
  const size_t block = mode_ == ReadMode::direct ? kBlock : 1;
  const uint64_t begin = offset / block * block;
  const auto before = static_cast<size_t>(offset - begin);
  const size_t wanted = round_up(before + n, block);
  assert(wanted <= buffer.size());
  size_t done = 0;
  while (done < before + n) {
    const ssize_t got =
        ::pread(descriptor_, buffer.data() + done, wanted - done, static_cast<off_t>(begin + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw Error(ErrorKind::io, "CannotReadFile",
                  fmt::format("{}: cannot read {} bytes at {}: {}", path_.string(), n, offset,
                              std::generic_category().message(errno)));
    }
    done += static_cast<size_t>(got);
    // A direct read that ends inside a block has met the end of the file.
    if (done < before + n && (got == 0 || done % block != 0)) {
      throw Error(
          ErrorKind::io, "ShortRead",
          fmt::format("{}: expected {} bytes at {}, but the file ends after {}; it must not "
                      "be changed while it is in use",
                      path_.string(), n, offset, begin + done));
    }
  }
  return {buffer.subspan(before, n), done};
}

}  // namespace maglio

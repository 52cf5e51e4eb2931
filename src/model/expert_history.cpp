#include "model/expert_history.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <system_error>

#include "base/checksum.h"
#include "base/mapped_file.h"
#include "maglio/error.h"

namespace maglio {
namespace {

constexpr char kMagic[16] = "maglio experts\n";
constexpr uint64_t kVersion = 1;

// A count from which on all are halved.
constexpr uint64_t kLargeCount = uint64_t{1} << 32;

// Of all bytes; otherwise errno says why not.
bool write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return true;
}

// The file as these parts, one after the other, or as it was. Returns why it could not be made so.
std::optional<std::string> replace_file(const std::filesystem::path& path,
                                        const std::array<std::span<const std::byte>, 2>& parts) {
  std::filesystem::path unfinished = path;
  unfinished += fmt::format(".{}.unfinished", ::getpid());
  const auto failure = [&](const char* action, int error) {
    ::unlink(unfinished.c_str());
    return fmt::format("{} cannot {}: {}", path.string(), action,
                       std::generic_category().message(error));
  };
  const int descriptor = ::open(unfinished.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
  if (descriptor < 0) return failure("be made", errno);
  for (const std::span<const std::byte> part : parts) {
    if (write_all(descriptor, part)) continue;
    const int error = errno;
    ::close(descriptor);
    return failure("be written", error);
  }
  if (::close(descriptor) != 0) return failure("be written", errno);
  if (::rename(unfinished.c_str(), path.c_str()) != 0) return failure("be named", errno);
  return std::nullopt;
}

uint64_t sum_of(std::span<const uint64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

}  // namespace

struct ExpertHistory::Header {
  char magic[16];
  uint64_t version;
  uint64_t model;  // fingerprint
  uint64_t n_layers;
  uint64_t n_experts;
  uint64_t sum;  // of the fields before and of the counts
};

ExpertHistory::ExpertHistory(uint64_t model, size_t n_layers, size_t n_experts)
    : model_(model),
      n_layers_(n_layers),
      n_experts_(n_experts),
      earlier_(n_layers * n_experts, 0),
      now_(n_layers * n_experts, 0) {}

void ExpertHistory::note(size_t layer_i, std::span<const ExpertDemand> chosen) {
  for (const ExpertDemand& demand : chosen) {
    now_[layer_i * n_experts_ + demand.expert] += demand.n_tokens;
  }
}

uint64_t ExpertHistory::n_earlier() const {
  return sum_of(earlier_);
}

ExpertHistory::Header ExpertHistory::header_for(std::span<const uint64_t> counts) const {
  static_assert(sizeof(Header) == 56);
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kVersion;
  header.model = model_;
  header.n_layers = n_layers_;
  header.n_experts = n_experts_;
  const auto fields = std::as_bytes(std::span(&header, 1)).first(offsetof(Header, sum));
  header.sum = checksum(std::as_bytes(counts), checksum(fields));
  return header;
}

// The counts of a file that is what it has to be, byte for byte; otherwise why not.
std::string ExpertHistory::read(const std::filesystem::path& path,
                                std::vector<uint64_t>& counts) const {
  const MappedFile file = MappedFile::open(path);
  const std::span<const std::byte> bytes = file.bytes();
  Header found{};
  counts.assign(n_layers_ * n_experts_, 0);
  const size_t counts_bytes = counts.size() * sizeof counts[0];
  if (bytes.size() < sizeof found) return "is cut short";
  std::memcpy(&found, bytes.data(), sizeof found);
  if (std::memcmp(found.magic, kMagic, sizeof kMagic) != 0) return "holds no history of experts";
  if (found.version != kVersion) return "was made by another version of maglio";
  if (found.model != model_) return "belongs to another model";
  if (bytes.size() != sizeof found + counts_bytes) return "is damaged";
  std::memcpy(counts.data(), bytes.data() + sizeof found, counts_bytes);
  const Header expected = header_for(counts);
  if (std::memcmp(&found, &expected, sizeof found) != 0) return "is damaged";
  if (std::ranges::any_of(counts, [](uint64_t n) { return n > kLargeCount; })) return "is damaged";
  return "";
}

std::optional<std::string> ExpertHistory::load(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  std::vector<uint64_t> counts;
  std::string why;
  try {
    why = read(path, counts);
  } catch (const Error& error) {  // not a file, or not to be opened: as good as none
    return error.message();
  }
  if (!why.empty()) return fmt::format("{} {}", path.string(), why);
  earlier_ = std::move(counts);
  return std::nullopt;
}

std::optional<std::string> ExpertHistory::save(const std::filesystem::path& path) {
  if (sum_of(now_) == 0) return std::nullopt;
  ExpertHistory all(model_, n_layers_, n_experts_);
  (void)all.load(path);  // what cannot be used is replaced
  std::vector<uint64_t>& counts = all.earlier_;
  for (size_t i = 0; i < counts.size(); ++i) counts[i] += now_[i];
  while (*std::ranges::max_element(counts) > kLargeCount) {
    for (uint64_t& n : counts) n /= 2;
  }
  const Header header = header_for(counts);
  std::optional<std::string> why =
      replace_file(path, {std::as_bytes(std::span(&header, 1)), std::as_bytes(std::span(counts))});
  if (!why) std::ranges::fill(now_, 0);
  return why;
}

std::filesystem::path expert_history_path(const gguf::File& file) {
  std::filesystem::path path = file.mappings().front().path();
  path += ".experts";
  return path;
}

}  // namespace maglio

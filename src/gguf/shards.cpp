#include "gguf/shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "maglio/error.h"

namespace maglio::gguf {
namespace {

constexpr size_t kDigits = 5;  // "%05d-of-%05d"

std::optional<uint32_t> parse_number(std::string_view digits) {
  uint32_t number = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + static_cast<uint32_t>(c - '0');
  }
  return number;
}

}  // namespace

std::filesystem::path ShardName::path_of(uint32_t part_number) const {
  std::filesystem::path path = prefix;
  path += fmt::format("-{:05}-of-{:05}.gguf", part_number, count);
  return path;
}

std::optional<ShardName> parse_shard_name(const std::filesystem::path& path) {
  constexpr std::string_view kOf = "-of-";
  constexpr std::string_view kEnding = ".gguf";
  constexpr size_t kTail = 1 + kDigits + kOf.size() + kDigits + kEnding.size();
  const std::string name = path.filename().string();
  if (name.size() <= kTail || !name.ends_with(kEnding)) return std::nullopt;
  const std::string_view tail = std::string_view(name).substr(name.size() - kTail);
  if (tail[0] != '-' || tail.substr(1 + kDigits, kOf.size()) != kOf) return std::nullopt;
  const auto number = parse_number(tail.substr(1, kDigits));
  const auto count = parse_number(tail.substr(1 + kDigits + kOf.size(), kDigits));
  if (!number || !count || *number < 1 || *number > *count) return std::nullopt;
  return ShardName{path.parent_path() / name.substr(0, name.size() - kTail), *number, *count};
}

ShardKeys shard_keys(const Metadata& metadata) {
  const uint64_t count = std::max<uint64_t>(metadata.uint("split.count").value_or(1), 1);
  const uint64_t no = metadata.uint("split.no").value_or(0);
  if (no >= count) {
    throw Error(ErrorKind::bad_file, "WrongShard",
                fmt::format("{}: metadata key 'split.no': expected less than split.count = {}, "
                            "found {}",
                            metadata.source(), count, no));
  }
  return {no + 1, count, metadata.uint("split.tensors.count")};
}

}  // namespace maglio::gguf

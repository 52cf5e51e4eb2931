#include "base/available_memory.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>

#include "base/cgroup.h"

namespace maglio {
namespace {

namespace fs = std::filesystem;

// The number that follows the key in a file of lines "key number".
std::optional<uint64_t> number_of(const fs::path& file, std::string_view key) {
  std::ifstream in(file);
  std::string word;
  for (uint64_t value = 0; in >> word;) {
    if (word == key) return in >> value ? std::optional(value) : std::nullopt;
    in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

// A file that holds one number; "max" and other words are none.
std::optional<uint64_t> number_in(const fs::path& file) {
  const std::string text = first_line(file);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

// What the group may still take: its limit less what it uses, except for caches of files.
std::optional<uint64_t> room_in(const Cgroup& group) {
  const bool v2 = group.version == 2;
  const auto limit = number_in(group.folder / (v2 ? "memory.max" : "memory.limit_in_bytes"));
  const auto used = number_in(group.folder / (v2 ? "memory.current" : "memory.usage_in_bytes"));
  if (!limit || !used) return std::nullopt;
  uint64_t kept = *used;
  for (const char* cache : {"inactive_file", "active_file"}) {
    const std::string key = (v2 ? "" : "total_") + std::string(cache);
    kept -= std::min(kept, number_of(group.folder / "memory.stat", key).value_or(0));
  }
  return *limit - std::min(*limit, kept);
}

}  // namespace

std::optional<uint64_t> available_memory(const fs::path& root) {
  std::optional<uint64_t> room;
  if (const auto kib = number_of(root / "proc/meminfo", "MemAvailable:")) room = *kib * 1024;
  for (const Cgroup& group : cgroups_of_process(root, "memory")) {
    if (const auto left = room_in(group)) room = std::min(room.value_or(*left), *left);
  }
  return room;
}

}  // namespace maglio

#include "gguf/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/escaped.h"
#include "gguf/header.h"
#include "gguf/shards.h"
#include "maglio/error.h"

namespace maglio::gguf {

static_assert(std::endian::native == std::endian::little,
              "numbers of tensors are used as the file stores them");

namespace {

// One file of a set; a whole file is a set of one.
struct Part {
  MappedFile mapping;
  Header header;
  ShardKeys keys;
};

Part open_part(const std::filesystem::path& path) {
  MappedFile mapping = MappedFile::open(path);
  Header header = parse_header(mapping.bytes(), path.string());
  const ShardKeys keys = shard_keys(header.metadata);
  return {std::move(mapping), std::move(header), keys};
}

Error wrong_shard(const std::string& message) {
  return Error(ErrorKind::bad_file, "WrongShard", message);
}

// The name of a set of which `named` is a part. Throws where name and content disagree.
ShardName set_name(const Part& named) {
  const std::filesystem::path& path = named.mapping.path();
  const std::optional<ShardName> name = parse_shard_name(path);
  if (!name || name->number != named.keys.number || name->count != named.keys.count) {
    throw wrong_shard(fmt::format(
        "{}: the file says that it is part {} of {}; expected its name "
        "to end in -{:05}-of-{:05}.gguf",
        path.string(), named.keys.number, named.keys.count, named.keys.number, named.keys.count));
  }
  return *name;
}

void require_all_present(const ShardName& name) {
  constexpr size_t kShown = 4;
  std::vector<std::string> missing;
  for (uint32_t number = 1; number <= name.count; ++number) {
    std::error_code ignored;
    if (!std::filesystem::exists(name.path_of(number), ignored)) {
      missing.push_back(name.path_of(number).string());
    }
  }
  if (missing.empty()) return;
  const std::span<const std::string> shown(missing.data(), std::min(missing.size(), kShown));
  throw Error(
      ErrorKind::bad_file, "MissingShard",
      fmt::format("{} of the {} parts of the model are missing: {}{}", missing.size(), name.count,
                  fmt::join(shown, ", "), missing.size() > kShown ? ", …" : ""));
}

bool same_value(const Value& a, const Value& b) {
  return a.type == b.type && a.element_type == b.element_type && a.count == b.count &&
         std::ranges::equal(a.bytes, b.bytes);
}

// A part of another model shows in its numbers, or in a key that both have with other values.
void require_kin(const Part& first, const Part& part, uint32_t number) {
  const std::string path = part.mapping.path().string();
  if (part.keys.number != number || part.keys.count != first.keys.count) {
    throw wrong_shard(
        fmt::format("{}: expected part {} of {}, but the file says that it is part "
                    "{} of {}",
                    path, number, first.keys.count, part.keys.number, part.keys.count));
  }
  for (const Metadata::Entry& entry : part.header.metadata.entries()) {
    const Value* value = first.header.metadata.find(entry.key);
    if (entry.key == "split.no" || value == nullptr || same_value(*value, entry.value)) continue;
    throw wrong_shard(
        fmt::format("{}: the file belongs to another model: its metadata key '{}' "
                    "differs from that of {}",
                    path, escaped(entry.key), first.mapping.path().string()));
  }
}

// All parts in order.
std::vector<Part> open_set(Part named) {
  std::vector<Part> parts;
  if (named.keys.count == 1) {
    parts.push_back(std::move(named));
    return parts;
  }
  const ShardName name = set_name(named);
  require_all_present(name);
  for (uint32_t number = 1; number <= name.count; ++number) {
    parts.push_back(number == name.number ? std::move(named) : open_part(name.path_of(number)));
    require_kin(parts.front(), parts.back(), number);
  }
  return parts;
}

}  // namespace

File File::open(const std::filesystem::path& path) {
  std::vector<Part> parts = open_set(open_part(path));
  const Part& first = parts.front();
  File file;
  file.n_parts_ = parts.size();
  file.version_ = first.header.version;
  file.alignment_ = first.header.alignment;
  file.n_tensors_stated_ = first.keys.n_tensors;
  file.metadata_ = std::move(parts.front().header.metadata);
  for (Part& part : parts) {
    part.mapping.require_full_size();
    file.n_bytes_ += part.mapping.bytes().size();
    std::ranges::move(part.header.tensors, std::back_inserter(file.tensors_));
    file.mappings_.push_back(std::move(part.mapping));
  }
  file.index_names();
  return file;
}

File File::parse(std::span<const std::byte> bytes, std::string source) {
  assert(reinterpret_cast<uintptr_t>(bytes.data()) % 8 == 0 && "tensors must be aligned");
  Header header = parse_header(bytes, source);
  const ShardKeys keys = shard_keys(header.metadata);
  if (keys.count != 1) {
    throw wrong_shard(fmt::format("{}: part {} of {} cannot be read alone from memory", source,
                                  keys.number, keys.count));
  }
  File file;
  file.version_ = header.version;
  file.alignment_ = header.alignment;
  file.n_tensors_stated_ = keys.n_tensors;
  file.n_bytes_ = bytes.size();
  file.metadata_ = std::move(header.metadata);
  file.tensors_ = std::move(header.tensors);
  file.index_names();
  return file;
}

void File::index_names() {
  if (n_tensors_stated_ && *n_tensors_stated_ != tensors_.size()) {
    throw wrong_shard(
        fmt::format("{}: expected split.tensors.count = {} tensors in all parts, "
                    "found {}",
                    metadata_.source(), *n_tensors_stated_, tensors_.size()));
  }
  by_name_.resize(tensors_.size());
  std::iota(by_name_.begin(), by_name_.end(), uint32_t{0});
  const auto name = [this](uint32_t i) { return tensors_[i].name; };
  std::ranges::sort(by_name_, {}, name);
  const auto twin = std::ranges::adjacent_find(by_name_, {}, name);
  if (twin != by_name_.end()) {
    throw Error(
        ErrorKind::bad_file, "DuplicateTensorName",
        fmt::format("{}: tensor '{}' appears twice", metadata_.source(), escaped(name(*twin))));
  }
}

const TensorInfo* File::find(std::string_view name) const {
  const auto found =
      std::ranges::lower_bound(by_name_, name, {}, [this](uint32_t i) { return tensors_[i].name; });
  if (found == by_name_.end() || tensors_[*found].name != name) return nullptr;
  return &tensors_[*found];
}

const TensorInfo& File::require(std::string_view name) const {
  require_full_size();  // first: the names themselves lie in the mapping
  const TensorInfo* tensor = find(name);
  if (tensor == nullptr) {
    throw Error(ErrorKind::bad_file, "MissingTensor",
                fmt::format("{}: tensor '{}' is missing", metadata_.source(), escaped(name)));
  }
  return *tensor;
}

void File::require_full_size() const {
  for (const MappedFile& mapping : mappings_) mapping.require_full_size();
}

const MappedFile* File::mapping_of(std::span<const std::byte> part) const {
  const auto found = std::ranges::find_if(
      mappings_, [&](const MappedFile& mapping) { return mapping.contains(part); });
  return found == mappings_.end() ? nullptr : &*found;
}

void File::prefetch(std::span<const std::byte> part) const {
  if (const MappedFile* mapping = mapping_of(part)) mapping->prefetch(part);
}

void File::drop_pages(std::span<const std::byte> part) const {
  if (const MappedFile* mapping = mapping_of(part)) mapping->drop(part);
}

}  // namespace maglio::gguf

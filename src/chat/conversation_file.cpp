#include "chat/conversation_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "base/bytes.h"
#include "base/mapped_file.h"
#include "chat/record_bytes.h"
#include "maglio/error.h"
#include "model/kv_cache.h"

namespace maglio::chat {
namespace {

constexpr std::string_view kMagic("maglio conversation\n\0\0\0\0", 24);
constexpr uint64_t kVersion = 1;
constexpr uint64_t kBlock = 1, kTurn = 2;              // kinds of records
constexpr size_t kDeadBytesAllowed = size_t{1} << 20;  // beyond as many as are alive

using Bytes = std::vector<std::byte>;
using Blocks = std::map<uint64_t, std::span<const std::byte>>;

// Bytes of the head before those that name the model, and before those of the cache.
constexpr size_t kModelAt = 32, kCacheAt = 48;

Bytes head_of(const FileBinding& binding, const KvCache& cache) {
  RecordBytes head;
  head.raw(as_byte_span(kMagic));
  head.number(kVersion);
  head.number(binding.model).number(binding.vocab_size);
  head.number(static_cast<uint64_t>(cache.type())).number(cache.shape().n_layers);
  head.number(cache.shape().n_kv_heads).number(cache.shape().head_dim);
  head.number(cache.block_bytes());
  return std::move(head).bytes();
}

// Does the file have its whole head? One that ends in the middle of it, or is empty, has not begun.
// Throws for another one.
bool has_head(const MappedFile& file, const Bytes& head) {
  const size_t n = std::min(file.bytes().size(), head.size());
  const auto differs = std::ranges::mismatch(file.bytes().first(n), std::span(head).first(n));
  const auto at = static_cast<size_t>(differs.in2 - std::span(head).first(n).begin());
  if (at == n) return n == head.size();
  const std::string name = file.path().string();
  if (at < kMagic.size()) {
    throw Error(ErrorKind::bad_file, "NotAConversation",
                fmt::format("{}: expected a saved conversation, found something else", name));
  }
  if (at < kModelAt) {
    throw Error(ErrorKind::bad_file, "NotAConversation",
                fmt::format("{}: saved by another version of maglio, which this one cannot read: "
                            "start anew under another name",
                            name));
  }
  if (at < kCacheAt) {
    throw Error(ErrorKind::bad_request, "ConversationOfAnotherModel",
                fmt::format("{}: this conversation was led with another model: load that one, or "
                            "start anew under another name",
                            name));
  }
  throw Error(ErrorKind::bad_request, "MismatchedKvCaches",
              fmt::format("{}: this conversation was led with another --cache-type", name));
}

[[noreturn]] void fail_damaged(const std::string& name, const char* what) {
  throw Error(ErrorKind::bad_file, "DamagedConversation",
              fmt::format("{}: the saved conversation is damaged: {}", name, what));
}

// What a file holds up to its last whole turn.
struct Content {
  std::optional<Snapshot> snapshot = {};  // nothing: no turn is whole
  size_t cache_length = 0;
  Blocks blocks;
  RecordPosition end;
  FoundInFile found;
};

// Counts what follows the last whole turn, by the sizes and kinds that its records claim. What has
// no turn's record behind it is the beginning of one more.
void count_lost(std::span<const std::byte> file, Content& content) {
  RecordPosition at = content.end;
  bool begun = false;
  while (const auto payload = next_claimed_record(file, at)) {
    const bool ends_turn =
        payload->size() >= sizeof kTurn && load_le<uint64_t>(payload->data()) == kTurn;
    content.found.lost_turns += ends_turn ? 1 : 0;
    begun = !ends_turn;
  }
  if (begun || at.byte < file.size()) ++content.found.lost_turns;
  content.found.lost_bytes = file.size() - content.end.byte;
}

// Reads record by record; blocks count from the next turn on.
Content read_records(const MappedFile& file, const Bytes& head, const FileBinding& binding) {
  Content content;
  content.end = first_record(head);
  RecordPosition at = content.end;
  Blocks waiting;
  while (const auto payload = next_record(file.bytes(), at)) {
    ByteReader in(*payload, file.path().string());
    in.describe("a saved turn");
    const auto kind = in.read<uint64_t>();
    if (kind == kBlock) {
      const auto index = in.read<uint64_t>();
      waiting[index] = in.take(in.remaining());
    } else if (kind == kTurn) {
      if (!content.snapshot) content.snapshot.emplace();
      content.cache_length = read_turn(in, binding.vocab_size, *content.snapshot);
      for (const auto& [index, bytes] : waiting) content.blocks[index] = bytes;
      waiting.clear();
      content.end = at;
      ++content.found.turns;
    } else {
      fail_damaged(file.path().string(), "a record of an unknown kind");
    }
  }
  count_lost(file.bytes(), content);
  return content;
}

// The last step of loading, and the only one that changes anything. Requires: a whole turn.
void restore(const Content& content, const std::string& name, KvCache& cache) {
  const size_t n_tokens = content.snapshot->transcript.tokens().size();
  if (content.cache_length > n_tokens) fail_damaged(name, "more positions than tokens");
  if (n_tokens > cache.capacity()) {
    throw Error(ErrorKind::context_full, "ContextFull",
                fmt::format("{}: this conversation has {} tokens, the context size is {}: raise "
                            "--ctx",
                            name, n_tokens, cache.capacity()));
  }
  std::vector<std::span<const std::byte>> blocks;
  for (size_t i = 0; i * kPageKeys < content.cache_length; ++i) {
    const auto block = content.blocks.find(i);
    if (block == content.blocks.end() || block->second.size() != cache.block_bytes()) {
      fail_damaged(name, "a block of keys and values is missing or has another size");
    }
    blocks.push_back(block->second);
  }
  cache.restore(blocks, content.cache_length);
}

void append_block(RecordFile& file, size_t block_i, const KvCache& cache) {
  RecordBytes record;
  record.number(kBlock).number(block_i);
  cache.copy_block(block_i, record.room(cache.block_bytes()));
  file.append(record.bytes());
}

// What is new beside `before`, of which the file holds the first positions.
void append_turn(RecordFile& file,
                 const Snapshot& before,
                 size_t kept_positions,
                 const Snapshot& now,
                 const KvCache& cache) {
  for (size_t i = kept_positions / kPageKeys; i < cache.n_blocks(); ++i) {
    const size_t block_end = std::min((i + 1) * kPageKeys, cache.length());
    if (block_end > kept_positions) append_block(file, i, cache);
  }
  RecordBytes record;
  record.number(kTurn);
  write_turn(before, now, cache.length(), record);
  file.append(record.bytes());
}

RecordFile write_whole(const std::filesystem::path& path,
                       const FileBinding& binding,
                       const Snapshot& snapshot,
                       const KvCache& cache) {
  RecordFile file = RecordFile::create(path, head_of(binding, cache));
  append_turn(file, Snapshot{}, 0, snapshot, cache);
  file.give_name();
  return file;
}

}  // namespace

Loaded load_conversation(const std::filesystem::path& path,
                         const FileBinding& binding,
                         KvCache& cache) {
  const MappedFile file = MappedFile::open(path);
  const Bytes head = head_of(binding, cache);
  if (!has_head(file, head)) return {};
  Content content = read_records(file, head, binding);
  if (content.snapshot) {
    restore(content, path.string(), cache);
  } else if (content.found.lost_bytes > 0) {
    fail_damaged(path.string(), "none of its turns is whole, so nothing was loaded");
  }
  return {std::move(content.snapshot), content.found};
}

void save_conversation(const std::filesystem::path& path,
                       const FileBinding& binding,
                       const Snapshot& snapshot,
                       const KvCache& cache) {
  write_whole(path, binding, snapshot, cache);
}

ConversationFile::ConversationFile(std::filesystem::path path,
                                   const FileBinding& binding,
                                   Snapshot& snapshot,
                                   KvCache& cache)
    : path_(std::move(path)), binding_(binding), file_(RecordFile::open(path_)) {
  const MappedFile mapped = MappedFile::open(path_);
  const Bytes head = head_of(binding_, cache);
  if (!has_head(mapped, head)) {
    file_.begin(head);
    return;
  }
  Content content = read_records(mapped, head, binding_);
  found_ = content.found;
  if (content.snapshot) restore(content, path_.string(), cache);
  file_.go_on(content.end);
  if (!content.snapshot) return;
  snapshot = *std::move(content.snapshot);
  note_kept(snapshot, cache);
}

void ConversationFile::keep(const Snapshot& snapshot, const KvCache& cache) {
  const size_t alive = cache.n_blocks() * cache.block_bytes();
  if (file_.end().byte > 2 * alive + kDeadBytesAllowed) return rewrite(snapshot, cache);
  const RecordPosition before = file_.end();
  // Of the same tokens a cache has the same bits, whatever happened to it between.
  const size_t common = common_prefix(kept_.transcript.tokens(), snapshot.transcript.tokens());
  const size_t kept_positions = std::min({common, kept_positions_, cache.length()});
  try {
    append_turn(file_, kept_, kept_positions, snapshot, cache);
  } catch (...) {
    file_.go_on(before);
    throw;
  }
  note_kept(snapshot, cache);
}

void ConversationFile::rewrite(const Snapshot& snapshot, const KvCache& cache) {
  file_ = write_whole(path_, binding_, snapshot, cache);
  note_kept(snapshot, cache);
}

void ConversationFile::note_kept(const Snapshot& snapshot, const KvCache& cache) {
  kept_ = snapshot;
  kept_positions_ = cache.length();
}

}  // namespace maglio::chat

// Conversations on disk: history, tokens, and the keys and values of the cache, so that one goes on
// where it stopped without computing its past again, and with the same bits.
//
//   [ head: magic, version, model, cache ] [ block ] [ block ] [ turn ] [ block ] [ turn ] ...
//
// The records are those of base/record_file.h. A turn is appended as the blocks of 64 positions
// that it has changed and then one record that says what else is new; only that record makes them
// count, so a file that ends anywhere holds the conversation after its last whole turn. What a
// later turn replaces stays in the file until more than half of it is dead; then it is written
// anew.
//
// A file belongs to one model (by fingerprint) and one kind of cache. Nothing in it is believed:
// checksums are against accidents, and what they let pass is compared with what can be.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/record_file.h"
#include "chat/snapshot.h"

namespace maglio {
class KvCache;
}

namespace maglio::chat {

// What the conversations of a file belong to, besides the kind of their cache.
struct FileBinding {
  uint64_t model = 0;  // its fingerprint
  size_t vocab_size = 0;
};

struct Loaded {
  std::optional<Snapshot> snapshot;  // nothing: the file holds no turn yet
  FoundInFile found;
};

// The conversation after the last whole turn of the file, its keys and values in the cache, which
// stays as it was where there is no turn.
// Throws: Error io "CannotOpenFile"; bad_file "NotAConversation", "DamagedConversation" (also where
// there are turns, but none is whole); bad_request "ConversationOfAnotherModel",
// "MismatchedKvCaches"; context_full "ContextFull". The cache is then as it was.
Loaded load_conversation(const std::filesystem::path& path,
                         const FileBinding& binding,
                         KvCache& cache);

// A new file, in place of any that has the name, once it is complete.
// Throws: Error io "CannotWriteFile".
void save_conversation(const std::filesystem::path& path,
                       const FileBinding& binding,
                       const Snapshot& snapshot,
                       const KvCache& cache);

// A file that a conversation is kept in, turn by turn.
class ConversationFile {
 public:
  // Opens it or makes it. What it holds is in `snapshot` and the cache then; they stay as they are
  // where it holds no whole turn. What follows the last whole turn is cut off (found()).
  // Throws: as load_conversation; Error io "FileInUse".
  ConversationFile(std::filesystem::path path,
                   const FileBinding& binding,
                   Snapshot& snapshot,
                   KvCache& cache);

  // Appends what has changed since the last time. Throws: Error io "CannotWriteFile"; the file
  // holds what it held, and the next call catches up.
  void keep(const Snapshot& snapshot, const KvCache& cache);
  // The same in a new file of that name.
  void rewrite(const Snapshot& snapshot, const KvCache& cache);

  const std::filesystem::path& path() const { return path_; }
  // When it was opened.
  const FoundInFile& found() const { return found_; }

 private:
  void note_kept(const Snapshot& snapshot, const KvCache& cache);

  std::filesystem::path path_;
  FileBinding binding_;
  RecordFile file_;
  FoundInFile found_;
  // What it holds.
  Snapshot kept_;
  size_t kept_positions_ = 0;
};

}  // namespace maglio::chat

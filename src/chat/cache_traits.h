// What a conversation can do with a cache beyond what the loop needs, where the cache can.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <utility>

#include "decode/language_model.h"
#include "maglio/error.h"

namespace maglio {
class KvCache;
}

namespace maglio::chat {

// A second cache with the same past.
template <class Cache>
concept ForkableCache = requires(const Cache& cache) {
  { cache.fork() } -> std::same_as<Cache>;
};

// One that can lie in a file (conversation_file.h).
template <class Cache>
concept PersistentCache = std::same_as<Cache, KvCache>;

// Caches of one model may differ in how they hold keys and values.
// Throws: Error bad_request "MismatchedKvCaches".
template <class Cache>
void check_same_kind(const Cache& ours, const Cache& other) {
  if constexpr (requires { ours.type() == other.type() && ours.shape() == other.shape(); }) {
    if (ours.type() == other.type() && ours.shape() == other.shape()) return;
    throw Error(ErrorKind::bad_request, "MismatchedKvCaches",
                "the caches differ in type or shape: make them alike");
  }
}

// The same, and as many positions.
template <class Cache>
void check_alike(const Cache& ours, const Cache& other) {
  check_same_kind(ours, other);
  if (ours.capacity() == other.capacity()) return;
  throw Error(ErrorKind::bad_request, "MismatchedKvCaches",
              fmt::format("the cache holds {} positions, expected {} as the context size says",
                          other.capacity(), ours.capacity()));
}

}  // namespace maglio::chat

// What a conversation can do with a cache beyond what the loop needs, where the cache can.
#pragma once

#include <concepts>
#include <utility>

#include "decode/language_model.h"
#include "maglio/error.h"

namespace maglio::chat {

// A second cache with the same past.
template <class Cache>
concept ForkableCache = requires(const Cache& cache) {
  { cache.fork() } -> std::same_as<Cache>;
};

// Caches of one model may differ in how they hold keys and values, and in how many.
// Throws: Error bad_request "MismatchedKvCaches".
template <class Cache>
void check_alike(const Cache& ours, const Cache& other) {
  bool alike = ours.capacity() == other.capacity();
  if constexpr (requires { ours.type() == other.type() && ours.shape() == other.shape(); }) {
    alike = alike && ours.type() == other.type() && ours.shape() == other.shape();
  }
  if (alike) return;
  throw Error(ErrorKind::bad_request, "MismatchedKvCaches",
              "the caches differ in type, shape or capacity: make them alike");
}

}  // namespace maglio::chat

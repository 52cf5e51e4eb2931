// Scratch memory for the tensors of one step: a bump allocator with scopes.
//
//   Arena::Scope scope(arena);
//   Tensor<float, Seq, Embed> x = arena.tensor<Seq, Embed>({n_tokens, d_model});
//
// What was allocated since a Scope was opened is gone when it closes. The memory itself stays: the
// arena grows until the largest step fits, and from then on a step allocates nothing. When the next
// outermost scope opens, blocks that growth left behind are joined into one.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "base/aligned_bytes.h"
#include "tensor/tensor.h"

namespace maglio {

// Invariants: everything it hands out starts at a multiple of 64 bytes and lies in one block;
// blocks never move while a scope is open. For one thread at a time.
class Arena {
 public:
  class Scope {
   public:
    explicit Scope(Arena& arena);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Arena& arena_;
    size_t block_;
    size_t used_;
  };

  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Not initialised. Valid until the innermost open scope closes. Requires: a scope is open.
  std::byte* bytes(size_t n);

  template <class T>
    requires std::is_trivially_destructible_v<T>
  T* array(size_t n) {
    return static_cast<T*>(static_cast<void*>(bytes(n * sizeof(T))));
  }

  // Dense and not initialised, like bytes().
  template <class... Axes>
  Tensor<float, Axes...> tensor(std::array<size_t, sizeof...(Axes)> extents) {
    size_t n = 1;
    for (const size_t extent : extents) n *= extent;
    return {array<float>(n), extents};
  }

  // Bytes that it holds; a step that repeats does not change it.
  size_t capacity() const;

 private:
  void join_blocks();

  std::vector<AlignedBytes> blocks_;
  size_t block_ = 0;  // the one we allocate from
  size_t used_ = 0;   // bytes taken of it
  size_t open_scopes_ = 0;
};

}  // namespace maglio

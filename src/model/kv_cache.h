// The KV cache: what a sequence remembers of its tokens, so that each is computed once.
//
// Logically, per layer, keys and values of [capacity, kv_heads, head_dim], rounded to the cache's
// type. Keys are stored after RoPE: past positions are never rotated again. Values have no RoPE.
//
// A step appends to every layer at the same base and advances once, after the last layer:
//
//   cache.reserve(n);                                         // may refuse; changes nothing then
//   for each layer: cache.append_layer(pool, layer, k, v);    // positions length() ... + n
//                   attend(..., cache.pages(layer), ...);     // sees them
//   cache.advance(n);
//
// Memory comes in blocks of 64 positions (KvPool), as the sequence grows. There is no window logic
// here: a window is applied where the cache is read, so rewinding is one integer.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "kernels/kernels.h"
#include "model/kv_pool.h"
#include "ops/kv_pages.h"
#include "tensor/tensor.h"

namespace maglio {

class ThreadPool;

struct KvShape {
  size_t n_layers = 0;
  size_t n_kv_heads = 0;
  size_t head_dim = 0;
  bool operator==(const KvShape&) const = default;
};

// Invariants: length <= capacity; the positions below length are written in every layer; blocks
// beyond may stay after truncate, their content does not count.
// Movable; fork() is the way to copy. Caches that share blocks are for one thread at a time.
class KvCache {
 public:
  // Takes no memory yet. Borrows the kernels.
  // Throws: Error unsupported "KvCacheHeadDimNotBlockAligned" for q8_0 and a head_dim that is no
  // multiple of 32.
  KvCache(const KvShape& shape,
          CacheType type,
          size_t capacity,
          const Kernels& kernels,
          KvPool pool = KvPool());
  KvCache(KvCache&&) = default;
  KvCache& operator=(KvCache&&) = default;

  const KvShape& shape() const { return shape_; }
  CacheType type() const { return type_; }
  size_t capacity() const { return capacity_; }
  size_t length() const { return length_; }

  // Room for n more positions, in memory that is this sequence's own.
  // Throws: Error context_full "KvCacheOverflow" beyond the capacity, "KvPoolExhausted" where the
  // pool has no block left; the cache is as it was.
  void reserve(size_t n);

  // Rounds the rows of the step's tokens into positions length() and on of a layer; does not
  // advance. Throws as reserve, where that was not called.
  void append_layer(ThreadPool& pool,
                    size_t layer,
                    Tensor<const float, Seq, KvHead, Dim> k,
                    Tensor<const float, Seq, KvHead, Dim> v);

  // The step's n tokens are in every layer. Requires: they were appended.
  void advance(size_t n);

  // Forgets all positions from `keep` on; beyond the length it does nothing.
  void truncate(size_t keep) {
    if (keep < length_) length_ = keep;
  }
  // An empty sequence, in the memory that this one had.
  void reset() { length_ = 0; }

  // A second sequence with the same past. Blocks are shared until one of the two writes to one.
  KvCache fork() const;

  // All positions written so far, those not advanced over included.
  KvPages pages(size_t layer) const;

  size_t bytes_per_position() const { return block_bytes() / kPageKeys; }
  // Of the blocks that it holds, shared ones included.
  size_t bytes() const { return blocks_.size() * block_bytes(); }
  // Of all sequences that were forked from one another: what is shared counts once.
  size_t family_bytes() const { return pool_.used_bytes(); }

  // For files (kv_blocks.cpp): a block is the memory of 64 positions, in all layers and heads.
  size_t block_bytes() const { return shape_.n_layers * shape_.n_kv_heads * head_bytes(); }
  size_t n_blocks() const { return (length_ + kPageKeys - 1) / kPageKeys; }
  // Copies a block; rows beyond the length are zero.  out: [block_bytes()]
  void copy_block(size_t block_i, std::span<std::byte> out) const;
  // Becomes a sequence of `length` positions that were copied by copy_block from a cache of this
  // type and shape. Requires: as many blocks as hold the length, block_bytes() each.
  // Throws: as reserve; the cache is as it was.
  void restore(std::span<const std::span<const std::byte>> blocks, size_t length);

 private:
  KvCache(const KvCache&) = default;

  size_t head_bytes() const;
  void clear_rows(size_t first_slot, std::span<std::byte> block) const;
  std::byte* page(size_t position, size_t layer, size_t kv_head) const;
  void store_rows(size_t layer,
                  size_t kv_head,
                  size_t first,
                  Tensor<const float, Seq, KvHead, Dim> k,
                  Tensor<const float, Seq, KvHead, Dim> v) const;
  bool is_writable(size_t from, size_t to) const;
  void make_own(size_t block_i);

  KvShape shape_;
  CacheType type_;
  size_t capacity_;
  const AttentionKernels* kernels_;
  KvPool pool_;
  size_t length_ = 0;
  std::vector<std::shared_ptr<KvPool::Block>> blocks_;
  std::vector<const std::byte*> block_data_;  // of blocks_, as pages() shows it
};

}  // namespace maglio

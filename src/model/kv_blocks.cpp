// Blocks of a KV cache as bytes: how a sequence leaves memory and comes back, bit for bit.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "maglio/error.h"
#include "model/kv_cache.h"

namespace maglio {

void KvCache::copy_block(size_t block_i, std::span<std::byte> out) const {
  assert(block_i < n_blocks() && out.size() == block_bytes());
  std::memcpy(out.data(), blocks_[block_i]->data(), out.size());
  const size_t n_rows = std::min(length_ - block_i * kPageKeys, kPageKeys);
  if (n_rows < kPageKeys) clear_rows(n_rows, out);
}

// What a forgotten sequence, or nobody at all, has written there is no part of this one.
void KvCache::clear_rows(size_t first_slot, std::span<std::byte> block) const {
  const size_t n = kPageKeys - first_slot;
  const std::vector<float> zeros(n * shape_.head_dim, 0.0f);
  for (size_t i = 0; i < shape_.n_layers * shape_.n_kv_heads; ++i) {
    std::byte* keys = block.data() + i * head_bytes();
    std::byte* values = keys + kernels_->key_page_bytes(shape_.head_dim);
    kernels_->store_keys(zeros.data(), shape_.head_dim, n, shape_.head_dim, first_slot, keys);
    kernels_->store_values(zeros.data(), shape_.head_dim, n, shape_.head_dim, first_slot, values);
  }
}

void KvCache::restore(std::span<const std::span<const std::byte>> blocks, size_t length) {
  assert(blocks.size() == (length + kPageKeys - 1) / kPageKeys);
  if (length > capacity_) {
    throw Error(ErrorKind::context_full, "KvCacheOverflow",
                fmt::format("no room for {} positions: the context holds {}", length, capacity_));
  }
  std::vector<std::shared_ptr<KvPool::Block>> restored;
  std::vector<const std::byte*> data;
  for (const std::span<const std::byte> bytes : blocks) {
    assert(bytes.size() == block_bytes());
    restored.push_back(pool_.grant(block_bytes()));
    std::memcpy(restored.back()->data(), bytes.data(), bytes.size());
    data.push_back(restored.back()->data());
  }
  blocks_ = std::move(restored);
  block_data_ = std::move(data);
  length_ = length;
}

}  // namespace maglio

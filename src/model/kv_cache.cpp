#include "model/kv_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "base/thread_pool.h"
#include "maglio/error.h"

namespace maglio {
namespace {

constexpr size_t kQuantBlock = 32;  // values under one scale in q8_0

// Rows of a head that are rounded together; divides kPageKeys.
constexpr size_t kRowsAtOnce = 32;
// Rows that a thread should have to round before waking it pays: some 2 us. A run of few rows costs
// as much as eight: in a decode step every cache line of the page comes from memory.
constexpr size_t kRowsWorthAThread = 32;
constexpr size_t kRunsWorthAThread = 4;

constexpr size_t blocks_for(size_t n_positions) {
  return (n_positions + kPageKeys - 1) / kPageKeys;
}

}  // namespace

KvCache::KvCache(
    const KvShape& shape, CacheType type, size_t capacity, const Kernels& kernels, KvPool pool)
    : shape_(shape),
      type_(type),
      capacity_(capacity),
      kernels_(&kernels.attention(type)),
      pool_(std::move(pool)) {
  if (type == CacheType::q8_0 && shape.head_dim % kQuantBlock != 0) {
    throw Error(ErrorKind::unsupported, "KvCacheHeadDimNotBlockAligned",
                fmt::format("a q8_0 cache needs heads of a multiple of {} channels, this model's "
                            "have {}; use an f16 cache",
                            kQuantBlock, shape.head_dim));
  }
}

void KvCache::reserve(size_t n) {
  if (n > capacity_ - length_) {
    throw Error(ErrorKind::context_full, "KvCacheOverflow",
                fmt::format("no room for {} more tokens: the context holds {} of {}", n, length_,
                            capacity_));
  }
  const size_t n_blocks_before = blocks_.size();
  const size_t n_blocks = blocks_for(length_ + n);
  block_data_.reserve(n_blocks);
  blocks_.reserve(n_blocks);
  try {
    while (blocks_.size() < n_blocks) blocks_.push_back(pool_.grant(block_bytes()));
    if (n > 0) {
      const size_t last = std::min(n_blocks, n_blocks_before);
      for (size_t i = length_ / kPageKeys; i < last; ++i) make_own(i);
    }
  } catch (...) {  // what was granted for nothing goes back
    blocks_.resize(n_blocks_before);
    throw;
  }
  for (size_t i = block_data_.size(); i < blocks_.size(); ++i) {
    block_data_.push_back(blocks_[i]->data());
  }
}

// Replaces a block that other sequences share by a copy. Of a block that begins at or after the
// length nothing is worth copying.
void KvCache::make_own(size_t block_i) {
  std::shared_ptr<KvPool::Block>& block = blocks_[block_i];
  if (block.use_count() == 1) return;
  const std::shared_ptr<KvPool::Block> own = pool_.grant(block_bytes());
  if (block_i * kPageKeys < length_) std::memcpy(own->data(), block->data(), own->size());
  block = own;
  block_data_[block_i] = own->data();
}

bool KvCache::is_writable(size_t from, size_t to) const {
  if (to > blocks_.size() * kPageKeys) return false;
  for (size_t i = from / kPageKeys; i < blocks_for(to); ++i) {
    if (blocks_[i].use_count() != 1) return false;
  }
  return true;
}

void KvCache::append_layer(ThreadPool& pool,
                           size_t layer,
                           Tensor<const float, Seq, KvHead, Dim> k,
                           Tensor<const float, Seq, KvHead, Dim> v) {
  const size_t n = k.extent<Seq>();
  assert(layer < shape_.n_layers && v.extent<Seq>() == n);
  assert(k.extent<KvHead>() == shape_.n_kv_heads && v.extent<KvHead>() == shape_.n_kv_heads);
  assert(k.extent<Dim>() == shape_.head_dim && v.extent<Dim>() == shape_.head_dim);
  if (n > capacity_ - length_ || !is_writable(length_, length_ + n)) reserve(n);
  if (n == 0) return;
  // Runs of one head's rows, cut where their slots are a multiple of kRowsAtOnce.
  const size_t first_run = length_ / kRowsAtOnce;
  const size_t n_runs = (length_ + n - 1) / kRowsAtOnce - first_run + 1;
  const size_t grain = std::clamp<size_t>(kRowsWorthAThread * n_runs / n, 1, kRunsWorthAThread);
  pool.parallel_for(shape_.n_kv_heads * n_runs, grain, [&](size_t begin, size_t end, size_t) {
    for (size_t i = begin; i < end; ++i) {
      const size_t kv_head = i / n_runs, run = first_run + i % n_runs;
      const size_t first = std::max(run * kRowsAtOnce, length_);
      const size_t last = std::min((run + 1) * kRowsAtOnce, length_ + n);
      store_rows(layer, kv_head, first, k.narrow<Seq>(first - length_, last - first),
                 v.narrow<Seq>(first - length_, last - first));
    }
  });
}

// Rows of one head into the positions from `first` on, all in one page.
void KvCache::store_rows(size_t layer,
                         size_t kv_head,
                         size_t first,
                         Tensor<const float, Seq, KvHead, Dim> k,
                         Tensor<const float, Seq, KvHead, Dim> v) const {
  const size_t n = k.extent<Seq>(), slot = first % kPageKeys;
  std::byte* keys = page(first, layer, kv_head);
  std::byte* values = keys + kernels_->key_page_bytes(shape_.head_dim);
  kernels_->store_keys(k.select<Seq>(0).select<KvHead>(kv_head).data(), k.stride<Seq>(), n,
                       shape_.head_dim, slot, keys);
  kernels_->store_values(v.select<Seq>(0).select<KvHead>(kv_head).data(), v.stride<Seq>(), n,
                         shape_.head_dim, slot, values);
}

void KvCache::advance(size_t n) {
  assert(n <= capacity_ - length_ && is_writable(length_, length_ + n) && "append before advance");
  length_ += n;
}

KvCache KvCache::fork() const {
  KvCache copy(*this);
  copy.blocks_.resize(blocks_for(length_));
  copy.block_data_.resize(copy.blocks_.size());
  return copy;
}

KvPages KvCache::pages(size_t layer) const {
  return {.kernels = kernels_,
          .pages = block_data_,
          .offset = layer * shape_.n_kv_heads * head_bytes(),
          .n_kv_heads = shape_.n_kv_heads,
          .head_dim = shape_.head_dim};
}

size_t KvCache::head_bytes() const {
  return kernels_->key_page_bytes(shape_.head_dim) + kernels_->value_page_bytes(shape_.head_dim);
}

std::byte* KvCache::page(size_t position, size_t layer, size_t kv_head) const {
  return blocks_[position / kPageKeys]->data() +
         (layer * shape_.n_kv_heads + kv_head) * head_bytes();
}

}  // namespace maglio

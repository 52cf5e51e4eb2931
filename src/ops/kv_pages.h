// The keys and values of one layer of one sequence, as attention reads them.
//
// Logically [position, kv_head, head_dim]. In memory, pages of 64 positions of one kv head: its
// keys, then its values, in the layout of the cache's type (kernels/generic/attention_pages.inl);
// the pages of all heads for the same 64 positions lie side by side. Keeping a head's keys together
// reads two to three times faster than the literal layout (docs/numerics.md).
#pragma once

#include <cassert>
#include <cstddef>
#include <span>
#include <vector>

#include "kernels/kernels.h"

namespace maglio {

// Borrows the pages: valid until the cache behind it is appended to, truncated or gone.
struct KvPages {
  const AttentionKernels* kernels = nullptr;
  // Page m of the sequence begins at pages[m] + offset.
  std::span<const std::byte* const> pages = {};
  size_t offset = 0;
  size_t n_kv_heads = 0;
  size_t head_dim = 0;

  const std::byte* key_page(size_t page, size_t kv_head) const {
    assert(page < pages.size() && kv_head < n_kv_heads);
    return pages[page] + offset + kv_head * head_bytes();
  }
  const std::byte* value_page(size_t page, size_t kv_head) const {
    return key_page(page, kv_head) + kernels->key_page_bytes(head_dim);
  }
  // Bytes of one head's keys and values of a page.
  size_t head_bytes() const {
    return kernels->key_page_bytes(head_dim) + kernels->value_page_bytes(head_dim);
  }

  // One row as it was rounded, [head_dim]. For tests and oracles.
  std::vector<float> key(size_t position, size_t kv_head) const {
    std::vector<float> row(head_dim);
    kernels->load_key(key_page(position / kPageKeys, kv_head), head_dim, position % kPageKeys,
                      row.data());
    return row;
  }
  std::vector<float> value(size_t position, size_t kv_head) const {
    std::vector<float> row(head_dim);
    kernels->load_value(value_page(position / kPageKeys, kv_head), head_dim, position % kPageKeys,
                        row.data());
    return row;
  }
};

}  // namespace maglio

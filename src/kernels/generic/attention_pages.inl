// How a page holds 64 keys or values of one kv head, and how a row gets in and out.
//
// A page is cut into panels of 32 columns: outputs of the product that the page takes part in, so
// that both products of attention are the same loop over rows, with the columns in lanes.
//   keys    columns = 32 keys,      rows = head_dim channels     2 panels
//   values  columns = 32 channels,  rows = 64 keys               head_dim / 32 panels
// Where head_dim is not a multiple of 32, the last panel of values is padded.
//
//   f16, f32   panel: [rows][32]
//   q8_0       panel: [scales f16][quants int8 [rows][32]]. Keys have a scale for each 32 channels
//              of a key, scales [head_dim / 32][32]; values one a key and panel, scales [64].
//              34 bytes for 32 numbers, as in the file format of that name.
#pragma once

#include "kernels/generic/rows.inl"
#include "kernels/generic/transpose.inl"
#include "kernels/kernels.h"
#include "tensor/half.h"

namespace maglio {
namespace {

constexpr size_t kPanel = 32;                      // columns of a panel
constexpr size_t kKeyPanels = kPageKeys / kPanel;  // panels of a page of keys
constexpr size_t kQuantBlock = 32;                 // values under one scale in q8_0
constexpr size_t kValuePanelBytes = 2 * kPageKeys + kPageKeys * kPanel;  // q8_0
constexpr size_t key_panel_bytes(size_t head_dim) {                      // q8_0
  return head_dim / kQuantBlock * (2 * kPanel + kQuantBlock * kPanel);
}

constexpr size_t value_panels(size_t head_dim) {
  return (head_dim + kPanel - 1) / kPanel;
}

// --- Pages of plain numbers: Number is uint16_t (f16 bits) or float
// --------------------------------
inline void store_narrowed(uint16_t* to, F32x16 x) {
  store_half(to, x);
}
inline void store_narrowed(float* to, F32x16 x) {
  store(to, x);
}
inline float widened(uint16_t bits) {
  return to_float(Half{bits});
}
inline float widened(float x) {
  return x;
}

template <class Number>
inline size_t plain_key_bytes(size_t head_dim) {
  return kPageKeys * head_dim * sizeof(Number);
}
template <class Number>
inline size_t plain_value_bytes(size_t head_dim) {
  return kPageKeys * value_panels(head_dim) * kPanel * sizeof(Number);
}
// Where channel c of the key, or of the value, in a slot lies, in numbers.
inline size_t key_index(size_t head_dim, size_t slot, size_t c) {
  return (slot / kPanel * head_dim + c) * kPanel + slot % kPanel;
}
inline size_t value_index(size_t slot, size_t c) {
  return (c / kPanel * kPageKeys + slot) * kPanel + c % kPanel;
}

template <class Number>
inline void store_one_key(const float* row, size_t head_dim, size_t slot, std::byte* page) {
  auto* numbers = reinterpret_cast<Number*>(page) + key_index(head_dim, slot, 0);
  for_each_vector(head_dim, [&](size_t c, size_t lanes) {
    Number narrowed[kLanes];
    store_narrowed(narrowed, load_up_to(row + c, lanes));
    for (size_t i = 0; i < lanes; ++i) numbers[(c + i) * kPanel] = narrowed[i];
  });
}

// Eight keys in slots from a multiple of 8 on: a channel's numbers of all eight are one store.
// The next eight rows are fetched meanwhile: rows are far apart, in as many pages of memory.
constexpr size_t kKeysAtOnce = 8;
inline void store_eight_keys(
    const float* rows, size_t stride, size_t head_dim, size_t slot, std::byte* page) {
  auto* numbers = reinterpret_cast<uint16_t*>(page) + key_index(head_dim, slot, 0);
  for (size_t c = 0; c < head_dim; c += kLanes) {
    alignas(64) uint16_t narrowed[kKeysAtOnce][kLanes];
    for (size_t r = 0; r < kKeysAtOnce; ++r) {
      prefetch(rows + (kKeysAtOnce + r) * stride + c);
      store_half(narrowed[r], load(rows + r * stride + c));
    }
    for (size_t half = 0; half < 2; ++half) {
      U16x8 v[kKeysAtOnce];
      for (size_t r = 0; r < kKeysAtOnce; ++r) {
        v[r] = load_vector<U16x8>(narrowed[r] + 8 * half);
      }
      transpose<kKeysAtOnce>(v);
      for (size_t i = 0; i < 8; ++i) {
        store_vector(numbers + (c + 8 * half + i) * kPanel, v[i]);
      }
    }
  }
}

template <class Number>
inline void store_plain_keys(
    const float* rows, size_t stride, size_t n, size_t head_dim, size_t slot, std::byte* page) {
  for (size_t i = 0; i < n;) {
    const float* row = rows + i * stride;
    if constexpr (sizeof(Number) == 2) {
      const bool eight = (slot + i) % kKeysAtOnce == 0 && n - i >= kKeysAtOnce;
      if (eight && head_dim % kLanes == 0) {
        store_eight_keys(row, stride, head_dim, slot + i, page);
        i += kKeysAtOnce;
        continue;
      }
    }
    store_one_key<Number>(row, head_dim, slot + i, page);
    ++i;
  }
}
template <class Number>
inline void store_one_value(const float* row, size_t head_dim, size_t slot, std::byte* page) {
  auto* numbers = reinterpret_cast<Number*>(page);
  for_each_vector(head_dim, [&](size_t c, size_t lanes) {
    store_narrowed(numbers + value_index(slot, c), load_up_to(row + c, lanes));
  });
  const size_t width = value_panels(head_dim) * kPanel;
  const size_t stored = (head_dim + kLanes - 1) / kLanes * kLanes;
  if (stored < width) store_narrowed(numbers + value_index(slot, stored), zero_f32());  // padding
}
template <class Number>
inline void store_plain_values(
    const float* rows, size_t stride, size_t n, size_t head_dim, size_t slot, std::byte* page) {
  for (size_t i = 0; i < n; ++i) {
    const float* row = rows + i * stride;
    for (size_t c = 0; c < head_dim; c += kLanes) prefetch(row + 8 * stride + c);
    store_one_value<Number>(row, head_dim, slot + i, page);
  }
}
template <class Number>
inline void load_plain_key(const std::byte* page, size_t head_dim, size_t slot, float* row) {
  const auto* numbers = reinterpret_cast<const Number*>(page);
  for (size_t c = 0; c < head_dim; ++c) row[c] = widened(numbers[key_index(head_dim, slot, c)]);
}
template <class Number>
inline void load_plain_value(const std::byte* page, size_t head_dim, size_t slot, float* row) {
  const auto* numbers = reinterpret_cast<const Number*>(page);
  for (size_t c = 0; c < head_dim; ++c) row[c] = widened(numbers[value_index(slot, c)]);
}

// --- Pages of q8_0. Requires: head_dim is a multiple of 32
// ------------------------------------------
inline size_t q8_0_key_bytes(size_t head_dim) {
  return kKeyPanels * key_panel_bytes(head_dim);
}
inline size_t q8_0_value_bytes(size_t head_dim) {
  return head_dim / kQuantBlock * kValuePanelBytes;
}

// One block of 32 numbers: d = max|x| / 127 rounded to f16, q = round(x / d) with the unrounded d,
// halves away from zero (quantize_row_q8_0_ref of ggml). A block that holds a NaN or an infinity
// gets the scale NaN: it must not come back from the cache as a number.
constexpr uint16_t kHalfNan = 0x7e00;
struct QuantizedBlock {
  uint16_t d_bits;
  int8_t q[kQuantBlock];
};
inline QuantizedBlock quantize_block(const float* x) {
  const F32x16 halves[2] = {load(x), load(x + kLanes)};
  const float highest = reduce_max(max(abs(halves[0]), abs(halves[1])));
  const F32x16 zero = zero_f32();
  const F32x16 probe = fma(halves[0], zero, mul(halves[1], zero));  // zeros, or NaN
  if (reduce_add(probe) != 0.0f) return {.d_bits = kHalfNan, .q = {}};
  const float d = highest / 127.0f;
  // Below the normal numbers 1 / d would be infinite; d is zero in f16 long before that.
  const float inverse = d < 1e-37f ? 0.0f : 1.0f / d;
  QuantizedBlock block;
  block.d_bits = to_half(d).bits;
  for (size_t h = 0; h < 2; ++h) {
    const F32x16 scaled = mul(halves[h], broadcast(inverse));
    // Halves go away from zero: down(|x| + 0.5) with the sign of x.
    const F32x16 up = add(abs(scaled), broadcast(0.5f));
    const I32x16 nearest = round_to_i32(up);
    const F32x16 down = to_f32(add_i32(nearest, less(up, to_f32(nearest))));  // a true lane is -1
    store_s8(block.q + h * kLanes, round_to_i32(select(less(scaled, zero), sub(zero, down), down)));
  }
  return block;
}

// The block of a slot: where its scale lies, and its quants, `step` bytes apart.
struct BlockPlace {
  size_t scale;
  size_t quants;
  size_t step;
};
inline BlockPlace key_place(size_t head_dim, size_t slot, size_t block) {
  const size_t scales = head_dim / kQuantBlock * kPanel;  // of a panel
  const size_t start = slot / kPanel * key_panel_bytes(head_dim);
  const size_t column = slot % kPanel;
  return {start + 2 * (block * kPanel + column),
          start + 2 * scales + block * kQuantBlock * kPanel + column, kPanel};
}
inline BlockPlace value_place(size_t, size_t slot, size_t block) {
  const size_t start = block * kValuePanelBytes;
  return {start + 2 * slot, start + 2 * kPageKeys + slot * kPanel, 1};
}

using Place = BlockPlace (*)(size_t head_dim, size_t slot, size_t block);

template <Place place>
inline void store_q8_0(
    const float* rows, size_t stride, size_t n, size_t head_dim, size_t slot, std::byte* page) {
  for (size_t r = 0; r < n; ++r) {
    for (size_t b = 0; b < head_dim / kQuantBlock; ++b) {
      const float* x = rows + r * stride + b * kQuantBlock;
      prefetch(x + 8 * stride);
      prefetch(x + 8 * stride + kLanes);
      const QuantizedBlock block = quantize_block(x);
      const BlockPlace at = place(head_dim, slot + r, b);
      __builtin_memcpy(page + at.scale, &block.d_bits, sizeof block.d_bits);
      for (size_t i = 0; i < kQuantBlock; ++i) {
        page[at.quants + i * at.step] = static_cast<std::byte>(block.q[i]);
      }
    }
  }
}
template <Place place>
inline void load_q8_0(const std::byte* page, size_t head_dim, size_t slot, float* row) {
  for (size_t b = 0; b < head_dim / kQuantBlock; ++b) {
    const BlockPlace at = place(head_dim, slot, b);
    Half d;
    __builtin_memcpy(&d.bits, page + at.scale, sizeof d.bits);
    for (size_t i = 0; i < kQuantBlock; ++i) {
      const auto q = static_cast<int8_t>(page[at.quants + i * at.step]);
      row[b * kQuantBlock + i] = to_float(d) * static_cast<float>(q);
    }
  }
}

}  // namespace
}  // namespace maglio

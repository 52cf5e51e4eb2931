// RoPE: positions as rotations     (Su et al. 2021, section 3.2.2)
//
//   pair i of a head at position p turns by   angle(p, i) = p / base^(2i / head_dim)
//   (a, b) -> (a cos - b sin, b cos + a sin)
//
// Rotating a query by its position and a key by its own makes their product depend on the distance
// alone, while each row needs no other: so keys are rotated once, before they are cached.
//
// The frequencies belong to the model and are computed once; the angles of a step's positions form
// its RopeTable. Both are computed by this library's own arithmetic (kernels/math.h): within 1 ulp
// of f32 of the exact value up to position 131,072 and beyond, and the same bits everywhere.
#pragma once

#include <cassert>
#include <cstddef>
#include <span>
#include <vector>

#include "kernels/math.h"
#include "ops/context.h"
#include "ops/norm.h"
#include "ops/rope_pairing.h"
#include "tensor/tensor.h"

namespace maglio {

// How a model stretches the positions that it was trained on.
struct RopeScaling {
  float factor = 1;                      // positions are divided by it (linear scaling)
  std::span<const float> divisors = {};  // [head_dim / 2]: frequency i is divided by one; or empty
};

// Radians per position of each pair. Immutable.
class RopeFrequencies {
 public:
  // Requires: head_dim even, base > 0, factor and divisors > 0.
  RopeFrequencies(size_t head_dim, float base, const RopeScaling& scaling = {});

  size_t n_pairs() const { return frequencies_.size(); }
  SinCos at(size_t position, size_t pair) const;

 private:
  std::vector<DoubleDouble> frequencies_;
};

// cos and sin of the angles of some rows. Lives in the arena, like the rows.
struct RopeTable {
  Tensor<const float, Seq, Pair> cos;
  Tensor<const float, Seq, Pair> sin;
  RopePairing pairing;
};

// The table whose row i is for positions[i]: a prompt's positions ascend, a decode step has one, a
// batch any.
RopeTable make_rope_table(Context& cx,
                          const RopeFrequencies& frequencies,
                          RopePairing pairing,
                          std::span<const size_t> positions);

namespace detail {

// All heads of all rows; norm is null where there is none.
void rotate_heads(Context& cx,
                  Tensor<float, Seq, Head, Dim> x,
                  const RopeTable& table,
                  const Norm<Dim>* norm);

// The same numbers under the name that rotate_heads takes: it treats every kind of head alike.
template <class H>
Tensor<float, Seq, Head, Dim> as_heads(Tensor<float, Seq, H, Dim> x) {
  return {x.data(),
          {x.template extent<Seq>(), x.template extent<H>(), x.template extent<Dim>()},
          {x.template stride<Seq>(), x.template stride<H>(), x.template stride<Dim>()}};
}

}  // namespace detail

// Rotates every head of row i to the position of the table's row i, in place.
// Requires: as many rows as the table; Dim is twice its pairs, its channels side by side.
template <class H>
void rope(Context& cx, Tensor<float, Seq, H, Dim> x, const RopeTable& table) {
  detail::rotate_heads(cx, detail::as_heads(x), table, nullptr);
}

// Qwen3's q/k norm and RoPE in one pass over each head: rope(rms_norm(x)), the same bits.
template <class H>
void rms_norm_rope(Context& cx,
                   Tensor<float, Seq, H, Dim> x,
                   const Norm<Dim>& norm,
                   const RopeTable& table) {
  detail::rotate_heads(cx, detail::as_heads(x), table, &norm);
}

}  // namespace maglio

// A tensor: numbers that somebody else owns, seen through named axes.
//
//   Tensor<float, Seq, Head, Dim> q;      // outermost axis first
//   q.extent<Head>();                     // how many heads
//   q.narrow<Seq>(4, 2);                  // tokens 4 and 5, same axes, no copy
//   q.select<Head>(3);                    // head 3 of every token: a Tensor<float, Seq, Dim>
//   split(flat_q, head_dim), merge(q);    // between Flat<Head, Dim> and Head, Dim
//
// A tensor is a pointer, an extent and a stride per axis: cheap to copy, passed by value, never an
// owner. It is valid as long as the memory that it was made on: an Arena::Scope, as a rule. There
// are no operators and no broadcasting; what computes is a named function of ops.
//
// What the names do not catch: two tensors over the same axes swapped (keys for values, gate for
// up). Those are named fields of structs instead.
#pragma once

#include <array>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include "tensor/axes.h"

namespace maglio {

template <class A, class... Axes>
concept OneOf = (std::same_as<A, Axes> || ...);

template <class T, class... Axes>
class Tensor;

namespace detail {

template <class... Axes>
struct AxisList {
  template <class T>
  using TensorOf = Tensor<T, Axes...>;
};

// The axes of Rest without A, appended to Kept.
template <class A, class Kept, class... Rest>
struct Without {
  using List = Kept;
};
template <class A, class... Kept, class First, class... Rest>
struct Without<A, AxisList<Kept...>, First, Rest...>
    : std::conditional_t<std::same_as<A, First>,
                         Without<A, AxisList<Kept...>, Rest...>,
                         Without<A, AxisList<Kept..., First>, Rest...>> {};

template <class A, class... Axes>
constexpr size_t axis_position() {
  size_t position = 0;
  // The first match ends the fold.
  (void)((std::same_as<A, Axes> || (++position, false)) || ...);
  return position;
}

template <class A, class... Axes>
constexpr size_t count_of() {
  return (size_t{0} + ... + (std::same_as<A, Axes> ? 1 : 0));
}

}  // namespace detail

// Invariants: rank 1 to 3, no axis twice; element (i, j, k) lies at data + i*s0 + j*s1 + k*s2.
template <class T, class... Axes>
class Tensor {
 public:
  static constexpr size_t kRank = sizeof...(Axes);
  static_assert(kRank >= 1 && kRank <= 3);
  static_assert(((detail::count_of<Axes, Axes...>() == 1) && ...), "an axis appears once");
  using Sizes = std::array<size_t, kRank>;

  // Dense, last axis innermost.
  Tensor(T* data, Sizes extents) : Tensor(data, extents, dense_strides(extents)) {}
  // Strides count elements.
  Tensor(T* data, Sizes extents, Sizes strides)
      : data_(data), extents_(extents), strides_(strides) {}

  // Whoever may write may also read.
  operator Tensor<const T, Axes...>() const
    requires(!std::is_const_v<T>)
  {
    return {data_, extents_, strides_};
  }

  T* data() const { return data_; }

  template <class A>
    requires OneOf<A, Axes...>
  size_t extent() const {
    return extents_[detail::axis_position<A, Axes...>()];
  }

  template <class A>
    requires OneOf<A, Axes...>
  size_t stride() const {
    return strides_[detail::axis_position<A, Axes...>()];
  }

  // Entries [from, from + n) along A. Requires: they exist.
  template <class A>
    requires OneOf<A, Axes...>
  Tensor narrow(size_t from, size_t n) const {
    constexpr size_t axis = detail::axis_position<A, Axes...>();
    assert(from <= extents_[axis] && n <= extents_[axis] - from);
    Tensor part = *this;
    part.data_ += from * strides_[axis];
    part.extents_[axis] = n;
    return part;
  }

  // Entry i along A; A is gone from the result. Requires: i < extent<A>(), rank >= 2.
  template <class A>
    requires(OneOf<A, Axes...> && sizeof...(Axes) >= 2)
  auto select(size_t i) const {
    constexpr size_t axis = detail::axis_position<A, Axes...>();
    assert(i < extents_[axis]);
    using List = typename detail::Without<A, detail::AxisList<>, Axes...>::List;
    using Result = typename List::template TensorOf<T>;
    typename Result::Sizes extents, strides;
    for (size_t from = 0, to = 0; from < kRank; ++from) {
      if (from == axis) continue;
      extents[to] = extents_[from];
      strides[to++] = strides_[from];
    }
    return Result(data_ + i * strides_[axis], extents, strides);
  }

  // The numbers of a tensor with one axis left. Requires: they lie side by side.
  std::span<T> span() const
    requires(kRank == 1)
  {
    assert(strides_[0] == 1 || extents_[0] <= 1);
    return {data_, extents_[0]};
  }

  template <class... Index>
    requires(sizeof...(Index) == kRank)
  T& operator()(Index... index) const {
    const Sizes at{static_cast<size_t>(index)...};
    size_t offset = 0;
    for (size_t axis = 0; axis < kRank; ++axis) {
      assert(at[axis] < extents_[axis]);
      offset += at[axis] * strides_[axis];
    }
    return data_[offset];
  }

 private:
  static Sizes dense_strides(const Sizes& extents) {
    Sizes strides;
    size_t stride = 1;
    for (size_t axis = kRank; axis-- > 0;) {
      strides[axis] = stride;
      stride *= extents[axis];
    }
    return strides;
  }

  T* data_;
  Sizes extents_;
  Sizes strides_;
};

// [Row, Flat<A, B>] seen as [Row, A, B]. Requires: extent_b divides the product axis.
template <class T, class R, class A, class B>
Tensor<T, R, A, B> split(Tensor<T, R, Flat<A, B>> x, size_t extent_b) {
  using Product = Flat<A, B>;
  assert(extent_b > 0 && x.template extent<Product>() % extent_b == 0);
  const size_t inner = x.template stride<Product>();
  return {x.data(),
          {x.template extent<R>(), x.template extent<Product>() / extent_b, extent_b},
          {x.template stride<R>(), extent_b * inner, inner}};
}

// [Row, A, B] seen as [Row, Flat<A, B>]. Requires: B's entries follow each other without a gap.
template <class T, class R, class A, class B>
Tensor<T, R, Flat<A, B>> merge(Tensor<T, R, A, B> x) {
  const size_t inner = x.template stride<B>();
  assert(x.template stride<A>() == x.template extent<B>() * inner);
  return {x.data(),
          {x.template extent<R>(), x.template extent<A>() * x.template extent<B>()},
          {x.template stride<R>(), inner}};
}

// The same numbers with axis From under the name To: for the few places where what an axis means
// changes. The result has two axes, as every place that needs it.
template <class From, class To, class T, class Kept>
Tensor<T, To, Kept> renamed(Tensor<T, From, Kept> x) {
  return {x.data(),
          {x.template extent<From>(), x.template extent<Kept>()},
          {x.template stride<From>(), x.template stride<Kept>()}};
}

}  // namespace maglio

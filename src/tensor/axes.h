// The names of the axes that tensors have.
//
// An axis is an empty type with a name; how long it is, a tensor knows at run time. The names are
// what makes a wrong contraction a compile error: the down projection is a Weight<Embed, Ff>, and
// nothing but a tensor over Ff can be multiplied with it. The same names serve the messages about
// files: "blk.3.attn_q.weight: expected [head*dim 2048, embed 1024], ...".
//
// Flat<A, B> is the product of two axes laid out one after the other: the query projection yields
// one long row of Flat<Head, Dim>, and split() can make nothing of it but [Head, Dim].
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace maglio {

// clang-format off
struct Seq    { static constexpr std::string_view name = "seq"; };     // the tokens of this step
struct Past   { static constexpr std::string_view name = "past"; };    // the positions in the cache
struct Row    { static constexpr std::string_view name = "row"; };     // the rows of logits
struct Embed  { static constexpr std::string_view name = "embed"; };   // the residual stream
struct Head   { static constexpr std::string_view name = "head"; };    // query heads
struct KvHead { static constexpr std::string_view name = "kv_head"; }; // key and value heads
struct Dim    { static constexpr std::string_view name = "dim"; };     // the channels of a head
struct Pair   { static constexpr std::string_view name = "pair"; };    // channel pairs RoPE rotates
struct Ff     { static constexpr std::string_view name = "ff"; };      // inside the feed-forward
struct SharedFf { static constexpr std::string_view name = "shared_ff"; };  // inside the expert that
                                                                           // all tokens share
struct Share  { static constexpr std::string_view name = "share"; };   // one number: how much of it
struct Vocab  { static constexpr std::string_view name = "vocab"; };   // one score a token
struct Expert { static constexpr std::string_view name = "expert"; };  // mixtures of experts
// clang-format on

template <class A, class B>
struct Flat {
 private:
  static constexpr auto kText = [] {
    std::array<char, A::name.size() + 1 + B::name.size()> text{};
    auto* end = std::copy(A::name.begin(), A::name.end(), text.begin());
    *end++ = '*';
    std::copy(B::name.begin(), B::name.end(), end);
    return text;
  }();

 public:
  static constexpr std::string_view name{kText.data(), kText.size()};
};

using Query = Flat<Head, Dim>;       // a token's query, all heads in one row
using KeyValue = Flat<KvHead, Dim>;  // a token's keys, or its values, all heads in one row

}  // namespace maglio

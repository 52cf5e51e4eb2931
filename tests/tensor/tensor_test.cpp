#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string_view>
#include <type_traits>
#include <vector>

namespace maglio {
namespace {

std::vector<float> counting(size_t n) {
  std::vector<float> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  return numbers;
}

TEST(Axes, AProductIsNamedAfterItsFactors) {
  EXPECT_EQ(Query::name, "head*dim");
  EXPECT_EQ(KeyValue::name, "kv_head*dim");
}

TEST(Tensor, LastAxisIsInnermost) {
  std::vector<float> numbers = counting(24);
  const Tensor<float, Seq, Head, Dim> x(numbers.data(), {2, 3, 4});
  EXPECT_EQ(x.extent<Seq>(), 2u);
  EXPECT_EQ(x.extent<Head>(), 3u);
  EXPECT_EQ(x.extent<Dim>(), 4u);
  EXPECT_EQ(x.stride<Seq>(), 12u);
  EXPECT_EQ(x(1, 2, 3), 23.0f);
  EXPECT_EQ(x(0, 1, 0), 4.0f);
}

TEST(Tensor, NarrowSharesMemoryAndKeepsTheAxes) {
  std::vector<float> numbers = counting(24);
  const Tensor<float, Seq, Head, Dim> x(numbers.data(), {2, 3, 4});
  const Tensor<float, Seq, Head, Dim> heads = x.narrow<Head>(1, 2);
  EXPECT_EQ(heads.extent<Head>(), 2u);
  EXPECT_EQ(heads(1, 0, 0), 16.0f);
  heads(1, 0, 0) = -1.0f;
  EXPECT_EQ(numbers[16], -1.0f);
}

TEST(Tensor, SelectDropsTheAxis) {
  std::vector<float> numbers = counting(24);
  const Tensor<float, Seq, Head, Dim> x(numbers.data(), {2, 3, 4});
  const auto head = x.select<Head>(2);
  static_assert(std::is_same_v<decltype(head), const Tensor<float, Seq, Dim>>);
  EXPECT_EQ(head(1, 1), 21.0f);
  const std::span<float> row = head.select<Seq>(1).span();
  EXPECT_EQ(row.size(), 4u);
  EXPECT_EQ(row[3], 23.0f);
}

TEST(Tensor, SplitAndMergeAreInverse) {
  std::vector<float> numbers = counting(24);
  const Tensor<float, Seq, Query> flat(numbers.data(), {2, 12});
  const Tensor<float, Seq, Head, Dim> heads = split(flat, 4);
  EXPECT_EQ(heads.extent<Head>(), 3u);
  EXPECT_EQ(heads(1, 2, 3), flat(1, 11));
  const Tensor<float, Seq, Query> back = merge(heads);
  EXPECT_EQ(back.extent<Query>(), 12u);
  EXPECT_EQ(back.data(), flat.data());
  EXPECT_EQ(back(1, 5), flat(1, 5));
}

TEST(Tensor, SplitKeepsTheStrideOfAWiderRow) {
  // Keys as the fused projection leaves them: columns 4 to 8 of rows that are 12 wide.
  std::vector<float> numbers = counting(24);
  const Tensor<float, Seq, KeyValue> keys(numbers.data() + 4, {2, 4}, {12, 1});
  const Tensor<float, Seq, KvHead, Dim> heads = split(keys, 2);
  EXPECT_EQ(heads(0, 1, 0), 6.0f);
  EXPECT_EQ(heads(1, 1, 1), 19.0f);
  EXPECT_EQ(merge(heads).stride<Seq>(), 12u);
}

TEST(Tensor, WritableConvertsToReadOnlyAndNotBack) {
  using Writable = Tensor<float, Seq, Embed>;
  using ReadOnly = Tensor<const float, Seq, Embed>;
  static_assert(std::is_convertible_v<Writable, ReadOnly>);
  static_assert(!std::is_convertible_v<ReadOnly, Writable>);
  static_assert(!std::is_convertible_v<Tensor<float, Seq, Ff>, ReadOnly>);
}

}  // namespace
}  // namespace maglio

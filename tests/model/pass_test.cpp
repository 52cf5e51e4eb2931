#include "model/pass.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace maglio {
namespace {

std::vector<TokenId> counting(size_t n) {
  std::vector<TokenId> ids(n);
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

TEST(Pass, SpansLieOneBelowTheOther) {
  const auto ids = counting(5);
  const Span batch[] = {{.position = 10, .ids = std::span(ids).first(3), .logits = LogitRows::last},
                        {.position = 7, .ids = std::span(ids).last(2), .logits = LogitRows::all}};
  const std::vector<Pass> passes = cut_into_passes(batch);
  ASSERT_EQ(passes.size(), 1u);
  const Pass& pass = passes[0];
  EXPECT_EQ(pass.ids, (std::vector<TokenId>{0, 1, 2, 3, 4}));
  EXPECT_EQ(pass.positions, (std::vector<size_t>{10, 11, 12, 7, 8}));
  EXPECT_EQ(pass.wanted, (std::vector<size_t>{2, 3, 4}));
  ASSERT_EQ(pass.spans.size(), 2u);
  EXPECT_EQ(pass.spans[1].first_row, 3u);
  EXPECT_EQ(pass.spans[1].n_wanted, 2u);
}

TEST(Pass, ALongSpanIsCutAndOnlyItsEndWantsTheLastRow) {
  const auto ids = counting(10);
  const Span batch[] = {{.position = 100, .ids = ids}};
  const std::vector<Pass> passes = cut_into_passes(batch, 4);
  ASSERT_EQ(passes.size(), 3u);
  EXPECT_TRUE(passes[0].wanted.empty());
  EXPECT_TRUE(passes[1].wanted.empty());
  EXPECT_EQ(passes[2].wanted, (std::vector<size_t>{1}));
  EXPECT_EQ(passes[2].spans[0].position, 108u);
  EXPECT_EQ(passes[2].ids, (std::vector<TokenId>{8, 9}));
}

TEST(Pass, APassIsFilledWithTheNextSpan) {
  const auto ids = counting(3);
  const Span batch[] = {{.ids = ids, .logits = LogitRows::none}, {.ids = ids}};
  const std::vector<Pass> passes = cut_into_passes(batch, 4);
  ASSERT_EQ(passes.size(), 2u);
  EXPECT_EQ(passes[0].spans.size(), 2u);
  EXPECT_EQ(passes[0].spans[1].n_rows, 1u);
  EXPECT_EQ(passes[1].wanted, (std::vector<size_t>{1}));
}

}  // namespace
}  // namespace maglio

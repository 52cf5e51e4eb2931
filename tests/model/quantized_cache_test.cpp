// What a cache in q8_0 costs: hardly anything, and never a number that is none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "support/loaded_model.h"

namespace maglio {
namespace {

using test::LoadedModel;
using test::Rows;

// Of the second token and all that follow, each given those before it.
double perplexity(const Rows& logits, const std::vector<TokenId>& text) {
  double nats = 0;
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    double sum = 0;
    for (float logit : logits[i]) sum += std::exp(static_cast<double>(logit));
    nats += std::log(sum) - static_cast<double>(logits[i][static_cast<size_t>(text[i + 1])]);
  }
  return std::exp(nats / static_cast<double>(text.size() - 1));
}

// Some tokens at random, then what the model says to them: a text that it finds likely.
std::vector<TokenId> likely_text(Transformer& model, size_t n_tokens) {
  std::vector<TokenId> text = test::random_prompt(40, model.config().vocab_size);
  KvCache cache = model.new_cache(n_tokens);
  while (text.size() < n_tokens) {
    const auto logits = model.forward_step(
        cache, std::span<const TokenId>(text).subspan(cache.length()), cache.length());
    text.push_back(static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin()));
  }
  return text;
}

TEST(QuantizedCache, PerplexityIsWithinAHundredthOfF16s_B105) {
  for (const size_t head_dim : {128, 64}) {
    Config config = test::tiny_config(Architecture::qwen3);
    config.head_dim = head_dim;
    LoadedModel model({.config = config, .tied_head = false});
    const auto text = likely_text(model.transformer, 600);
    const Rows f16 = test::all_logits(model.transformer, text, text.size());
    const Rows q8_0 = test::all_logits(model.transformer, text, text.size(), CacheType::q8_0);
    EXPECT_NE(q8_0, f16) << "an f16 cache was used instead";
    for (const auto& row : q8_0) {
      for (float logit : row) ASSERT_TRUE(std::isfinite(logit)) << head_dim;
    }
    const double plain = perplexity(f16, text), quantized = perplexity(q8_0, text);
    EXPECT_LT(plain, 100) << "the text is no likelier than any other of 320 tokens";
    EXPECT_NEAR(quantized / plain, 1, 0.01) << head_dim << ": " << plain << ", " << quantized;
  }
}

}  // namespace
}  // namespace maglio

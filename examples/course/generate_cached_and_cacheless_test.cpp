#include <gtest/gtest.h>

#include <vector>

#include "course/cached_and_cacheless.h"
#include "gguf/reader.h"
#include "support/synthetic_model.h"

namespace maglio::course {
namespace {

TEST(CachedAndCacheless, GiveTheSameTokens) {
  for (Architecture architecture : {Architecture::qwen3, Architecture::llama}) {
    test::SyntheticModel synthetic;
    synthetic.config = test::tiny_config(architecture);
    const auto bytes = synthetic.bytes();
    Transformer model = Transformer::load(gguf::File::parse(bytes));
    const std::vector<TokenId> prompt = {72, 101, 108, 108, 111};
    const TwoWays both = generate_both_ways(model, prompt, 64);
    EXPECT_EQ(both.cached.size(), 64u);
    EXPECT_EQ(both.cached, both.cacheless);
  }
}

}  // namespace
}  // namespace maglio::course

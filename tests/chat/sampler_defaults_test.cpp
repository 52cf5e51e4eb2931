#include "chat/sampler_defaults.h"

#include <gtest/gtest.h>

#include "gguf/reader.h"
#include "maglio/error.h"
#include "support/gguf_builder.h"

namespace maglio::chat {
namespace {

SamplerConfig defaults_of(const test::GgufBuilder& builder, Thinking thinking) {
  const auto bytes = builder.bytes();
  return sampler_defaults(gguf::File::parse(bytes).metadata(), thinking);
}

TEST(SamplerDefaults, AreQwen3sWhereTheFileIsSilent) {
  const test::GgufBuilder silent;
  EXPECT_EQ(defaults_of(silent, Thinking::on),
            (SamplerConfig{.temperature = 0.6f, .top_k = 20, .top_p = 0.95f}));
  EXPECT_EQ(defaults_of(silent, Thinking::off),
            (SamplerConfig{.temperature = 0.7f, .top_k = 20, .top_p = 0.8f}));
}

TEST(SamplerDefaults, AreTheFilesOwnWhereItSpeaks) {
  test::GgufBuilder builder;
  builder.f32("general.sampling.temp", 0.25f)
      .i32("general.sampling.top_k", 5)
      .f32("general.sampling.min_p", 0.125f)
      .f32("general.sampling.penalty_repeat", 1.5f)
      .i32("general.sampling.penalty_last_n", 7);
  EXPECT_EQ(defaults_of(builder, Thinking::on), (SamplerConfig{.temperature = 0.25f,
                                                               .top_k = 5,
                                                               .top_p = 0.95f,
                                                               .min_p = 0.125f,
                                                               .repeat_penalty = 1.5f,
                                                               .repeat_last_n = 7}));
}

TEST(SamplerDefaults, OfAnotherTypeAreAnError) {
  test::GgufBuilder builder;
  builder.string("general.sampling.temp", "hot");
  EXPECT_THROW(defaults_of(builder, Thinking::on), Error);
}

}  // namespace
}  // namespace maglio::chat

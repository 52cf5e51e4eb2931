// Exercise 4 of the chapter, "Same seed, same story": the sampler's draws are a function of its
// seed. Two samplers with the same configuration, fed the same logits and history, tell the same
// story; change the seed alone, and they part.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "decode/sampler.h"
#include "support/test_kernels.h"

namespace maglio::course {
namespace {

// Logits that depend on the step, so that the story is not one word again and again.
std::vector<float> logits_of_step(size_t step) {
  std::vector<float> logits(50);
  for (size_t i = 0; i < logits.size(); ++i) {
    logits[i] = static_cast<float>((i * 7 + step * 13) % 10);
  }
  return logits;
}

std::vector<int32_t> story(uint64_t seed) {
  Sampler sampler({.temperature = 0.7f, .seed = seed}, test::test_kernels());
  std::vector<int32_t> history;
  for (size_t step = 0; step < 100; ++step) {
    std::vector<float> logits = logits_of_step(step);  // next() consumes them: a fresh copy
    history.push_back(sampler.next(logits, history));
  }
  return history;
}

TEST(SameSeedSameStory, IdenticalConfigurationsTellIdenticalStories) {
  EXPECT_EQ(story(42), story(42));
}

TEST(SameSeedSameStory, AnotherSeedTellsAnother) {
  EXPECT_NE(story(42), story(43));
}

}  // namespace
}  // namespace maglio::course

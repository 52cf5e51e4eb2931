#include "decode/speculation.h"

#include <gtest/gtest.h>

#include <vector>

#include "decode/generate.h"
#include "support/function_model.h"
#include "support/random_blocks.h"

namespace maglio {
namespace {

using Ids = std::vector<TokenId>;

ReferenceText reference(const Ids& text) {
  return std::make_shared<const FrozenAutomaton>(text);
}

Speculation speculation(const std::vector<Ids>& references = {}) {
  std::vector<ReferenceText> texts;
  for (const Ids& text : references) texts.push_back(reference(text));
  return Speculation(test::test_kernels(), texts);
}

Ids guesses(Speculation& s, const Ids& history, size_t max = 100) {
  return s.propose(history, nullptr, max).tokens;
}

// The logits of a model that prefers this token.
std::vector<float> preferring(TokenId token) {
  std::vector<float> logits(100, -1.0f);
  logits[static_cast<size_t>(token)] = 2;
  return logits;
}

TEST(Speculation, GuessesWhatCameAfterTheSameWords) {
  Speculation s = speculation();
  EXPECT_EQ(guesses(s, {1, 2, 3, 4, 5, 9, 1, 2}, 3), (Ids{3, 4, 5}));
  EXPECT_EQ(guesses(s, {1, 2, 3, 4, 5, 9, 1, 2}, 0), Ids());
  EXPECT_EQ(guesses(s, {1, 2, 3, 4}), Ids()) << "another history, without a repetition";
}

TEST(Speculation, APeriodicTextGoesOnAsLongAsItMay) {
  Speculation s = speculation();
  EXPECT_EQ(guesses(s, {9, 1, 2, 3, 1, 2, 3, 1}, 7), (Ids{2, 3, 1, 2, 3, 1, 2}));
  EXPECT_EQ(guesses(s, Ids(20, 4)).size(), Speculation::kLongestDraft);
}

TEST(Speculation, TheLongestMatchWinsThenTheConversationThenTheFirstReference) {
  const Ids history = {5, 6, 10, 11, 5, 6};  // 5 6 was said before, and 10 came
  Speculation both = speculation({{5, 6, 20, 21}, {5, 6, 30, 31}});
  EXPECT_EQ(guesses(both, history, 1), (Ids{10}));
  Speculation longer = speculation({{5, 6, 20, 21}, {11, 5, 6, 30, 31}});
  EXPECT_EQ(guesses(longer, history), (Ids{30, 31})) << "to the end of the text";
  Speculation equal = speculation({{11, 5, 6, 20}, {11, 5, 6, 30}});
  EXPECT_EQ(guesses(equal, history), (Ids{20}));
}

TEST(Speculation, WithoutTwoEqualTokensTheModelsHabitsServe) {
  Speculation s = speculation();
  s.learn(7, preferring(8));
  s.learn(8, preferring(60));
  s.learn(8, preferring(9));
  EXPECT_EQ(guesses(s, {1, 2, 7}), (Ids{8, 9})) << "what it last preferred";
  s.learn(9, preferring(7));
  EXPECT_EQ(guesses(s, {1, 2, 7}).size(), Speculation::kLongestChain);
  EXPECT_EQ(guesses(s, {1, 7, 3, 1, 7}, 1), (Ids{3})) << "two equal tokens";
}

class Forcing : public Constraint {
 public:
  void mask(std::span<float>) override {}
  void accept(TokenId) override {}
  std::vector<TokenId> forced() const override { return must; }
  size_t allowed_prefix(std::span<const TokenId> tokens) const override {
    size_t n = 0;
    while (n < tokens.size() && tokens[n] != refused) ++n;
    return n;
  }
  Ids must;
  TokenId refused = -1;
};

TEST(Speculation, ForcedTokensComeFirstAndRefusedOnesEndADraft) {
  Forcing rule;
  const Ids history = {1, 2, 3, 4, 5, 1, 2};
  Speculation s = speculation();
  rule.must = {40};
  const Draft forced = s.propose(history, &rule, 9);
  EXPECT_EQ(forced.tokens, (Ids{40})) << "one is enough";
  EXPECT_EQ(forced.chances, (std::vector<float>{1}));
  rule.must = Ids(30, 41);
  EXPECT_EQ(s.propose(history, &rule, 9).tokens, Ids(9, 41));
  rule.must = {};
  rule.refused = 5;
  EXPECT_EQ(s.propose(history, &rule, 9).tokens, (Ids{3, 4}));
}

TEST(Speculation, CountsWhatBecameOfGuesses) {
  Speculation s = speculation();
  const Ids history = {1, 2, 3, 4, 5, 9, 1, 2};
  const auto step = [&](const Ids& committed, size_t n_checked) {
    s.propose(history, nullptr, 3);  // 3 4 5
    s.observe(committed, n_checked);
  };
  step({3}, 0);           // plain: guesses would not have paid
  step({3, 4, 5, 9}, 3);  // all right, and one more
  step({3, 4, 8}, 3);     // two right
  step({8}, 2);           // none
  step({3, 4}, 2);        // right, and ended before the bonus
  s.observe({}, 0);       // a step without guesses
  const SpeculationStats& stats = s.stats();
  EXPECT_EQ(stats.steps(), 6u);
  EXPECT_EQ(stats.verify_steps, 4u);
  EXPECT_EQ(stats.plain_steps, 2u);
  EXPECT_EQ(stats.gated_off, 1u);
  EXPECT_EQ(stats.drafted(), 10u);
  EXPECT_EQ(stats.accepted(), 7u);
  EXPECT_EQ(stats.bonus, 1u);
  const auto& conversation = stats.sources[static_cast<size_t>(DraftSource::conversation)];
  EXPECT_EQ(conversation, (SpeculationStats::Source{10, 7}));
  s.reset_stats();
  EXPECT_EQ(s.stats(), SpeculationStats());
}

TEST(Speculation, LearnsFromTokensForWhichNothingWasChecked) {
  Speculation s = speculation();
  const Ids history = {1, 2, 3, 9, 1, 2};
  const float first = s.propose(history, nullptr, 1).chances[0];
  for (int i = 0; i < 20; ++i) {
    s.propose(history, nullptr, 1);
    s.observe(Ids{50}, 0);
  }
  EXPECT_LT(s.propose(history, nullptr, 1).chances[0], first / 2);
}

TEST(Speculation, ACopyGoesItsOwnWay) {
  Speculation s = speculation({{7, 8, 9}});
  guesses(s, {1, 2, 3});
  Speculation copy = s;
  EXPECT_EQ(guesses(s, {1, 2, 3, 7}), (Ids{8, 9}));
  EXPECT_EQ(guesses(copy, {1, 2, 3, 1, 2}, 1), (Ids{3}));
}

// A letter grammar: [ then digits, commas between them, ] at the end; after a comma a space.
class JsonLike : public Constraint {
 public:
  explicit JsonLike(size_t n_numbers) : n_left_(n_numbers) {}
  void mask(std::span<float> logits) override {
    for (size_t i = 0; i < logits.size(); ++i) {
      if (!allows(static_cast<TokenId>(i))) logits[i] = -std::numeric_limits<float>::infinity();
    }
  }
  void accept(TokenId token) override {
    if (token < kComma && last_ != kSpace && last_ != kOpen && last_ < kComma) ++digits_;
    if (token == kComma) digits_ = 0, --n_left_;
    last_ = token;
  }
  std::vector<TokenId> forced() const override {
    if (last_ == kStart) return {kOpen};
    if (last_ == kComma) return {kSpace};
    if (last_ == kClose) return {kEnd};
    if (last_ < kComma && digits_ >= 2) {
      return n_left_ > 1 ? std::vector<TokenId>{kComma, kSpace}
                         : std::vector<TokenId>{kClose, kEnd};
    }
    return {};
  }
  size_t allowed_prefix(std::span<const TokenId> tokens) const override {
    JsonLike ahead = *this;
    size_t n = 0;
    while (n < tokens.size() && ahead.allows(tokens[n])) ahead.accept(tokens[n++]);
    return n;
  }

  static constexpr TokenId kComma = 10, kSpace = 11, kOpen = 12, kClose = 13, kEnd = 14;

 private:
  static constexpr TokenId kStart = -1;

  bool allows(TokenId token) const {
    const bool is_digit = token >= 0 && token < kComma;
    if (last_ == kStart) return token == kOpen;
    if (last_ == kComma) return token == kSpace;
    if (last_ == kOpen || last_ == kSpace) return is_digit;
    if (last_ == kClose) return token == kEnd;
    if (digits_ >= 2) return token == (n_left_ > 1 ? kComma : kClose);
    return is_digit || token == (n_left_ > 1 ? kComma : kClose);
  }

  size_t n_left_;
  size_t digits_ = 0;
  TokenId last_ = kStart;
};

// Numbers that come again and again, with the constraint's own tokens between them.
TEST(Speculation, AJsonLikeConstraintSaysTheSameWithItsForcedTokensAsGuesses) {
  const auto score = [](std::span<const TokenId> past, std::span<float> logits) {
    const size_t state = (past.size() / 3 * 7 + static_cast<size_t>(past.back())) % 23;
    for (size_t i = 0; i < logits.size(); ++i) {
      logits[i] = static_cast<float>((state * (i + 3)) % 11) / 3;
    }
  };
  for (float temperature : {0.0f, 0.7f}) {
    std::vector<Ids> texts;
    for (bool speculate : {false, true}) {
      test::FunctionModel model(20, score);
      test::ScriptedCache cache = model.new_cache(400);
      Ids tokens = {15};
      Sampler sampler({.temperature = temperature, .seed = 5}, model.kernels());
      JsonLike rule(60);
      Speculation s = speculation();
      const FinishReason finish = generate(
          Sequence<test::FunctionModel>{model, cache, tokens, sampler, &rule,
                                        speculate ? &s : nullptr},
          390,
          [](TokenId id) { return id == JsonLike::kEnd ? Verdict::end_with : Verdict::go_on; });
      EXPECT_EQ(finish, FinishReason::stop);
      texts.push_back(tokens);
      if (!speculate) continue;
      const auto& forced = s.stats().sources[static_cast<size_t>(DraftSource::forced)];
      EXPECT_GT(forced.drafted, 20u);
      EXPECT_EQ(forced.accepted, forced.drafted) << "always";
      EXPECT_GT(s.stats().accepted(), forced.accepted);
    }
    EXPECT_EQ(texts[0], texts[1]);
  }
}

}  // namespace
}  // namespace maglio

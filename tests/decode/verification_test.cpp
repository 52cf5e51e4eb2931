// Guesses of every kind, right and wrong, change nothing: not the tokens, not how and where they
// end, not what the cache holds. Here all of them are checked (no gate).
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "decode/generate.h"
#include "support/function_model.h"
#include "support/loaded_model.h"
#include "support/random_blocks.h"

namespace maglio {
namespace {

using Ids = std::vector<TokenId>;
using test::FunctionModel;
using test::ScriptedCache;

constexpr size_t kVocab = 40;
constexpr TokenId kThrows = 39;  // a pass over it fails
constexpr TokenId kPoison = 38;  // behind it the logits are NaN

// Scores that depend on the last two tokens, two of them close together.
void score(std::span<const TokenId> past, std::span<float> logits) {
  if (past.back() == kThrows) throw Error(ErrorKind::io, "Broken", "a pass fails");
  size_t state = 17;
  for (TokenId id : past.last(std::min<size_t>(2, past.size()))) {
    state = (state * 31 + static_cast<size_t>(id)) % 1009;
  }
  logits[state % 37] = 8;
  logits[(state * 7 + 1) % 37] = 7.5f;
  if (past.back() == kPoison) logits[5] = std::numeric_limits<float>::quiet_NaN();
}

// Guesses as told, and notes what it hears.
class ToldDrafter : public Drafter {
 public:
  using Guess = std::function<Ids(std::span<const TokenId> history, size_t max)>;
  explicit ToldDrafter(Guess guess) : guess_(std::move(guess)) {}

  Draft propose(std::span<const TokenId> history, const Constraint*, size_t max) override {
    const Ids tokens = guess_(history, max);
    EXPECT_LE(tokens.size(), max);
    guesses_ = tokens;
    return {tokens, std::vector<float>(tokens.size(), 0.5f)};
  }
  void learn(TokenId, std::span<const float>) override {}
  void observe(std::span<const TokenId> committed, size_t n_checked) override {
    size_t n = 0;
    while (n < std::min(committed.size(), n_checked) && guesses_[n] == committed[n]) ++n;
    n_accepted += n;
    n_rejected += n_checked - n;
  }

  size_t n_accepted = 0, n_rejected = 0;

 private:
  Guess guess_;
  Ids guesses_;
};

// What a sequence came to, all of it.
struct Result {
  Ids tokens;
  size_t cached = 0;
  FinishReason finish = FinishReason::length;
  std::string error;
  Ids heard;  // by on_token
  bool operator==(const Result&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Result& r) {
  out << to_string(r.finish) << " '" << r.error << "', cached " << r.cached << ":";
  for (TokenId id : r.tokens) out << ' ' << id;
  return out;
}

struct Case {
  SamplerConfig sampler = {};
  size_t max_tokens = 40;
  size_t capacity = 100;
  Ids prompt = {1, 2, 3};
  std::function<Verdict(TokenId)> ask = [](TokenId) { return Verdict::go_on; };
  std::function<void(std::span<const TokenId>, std::span<float>)> function = score;
};

Result run(const Case& c, Drafter* drafter, Constraint* constraint = nullptr) {
  FunctionModel model(kVocab, c.function);
  ScriptedCache cache = model.new_cache(c.capacity);
  Result result{.tokens = c.prompt, .error = {}, .heard = {}};
  Sampler sampler(c.sampler, model.kernels());
  Stream<FunctionModel> stream{
      {model, cache, result.tokens, sampler, constraint, drafter}, c.max_tokens, [&](TokenId id) {
        result.heard.push_back(id);
        return c.ask(id);
      }};
  const Ending ending = generate_together<FunctionModel>({&stream, 1})[0];
  result.finish = ending.finish;
  result.cached = cache.length();
  EXPECT_TRUE(std::ranges::equal(cache.ids(), std::span(result.tokens).first(result.cached)));
  try {
    if (ending.error) std::rethrow_exception(ending.error);
  } catch (const Error& error) {
    result.error = error.code();
  } catch (const std::exception& error) {
    result.error = error.what();
  }
  return result;
}

// Drafts of n tokens, of which the first few are what will come and the rest are not.
ToldDrafter::Guess mostly_right(const Ids& truth, size_t n, uint64_t seed) {
  return [=, dice = test::Dice(seed)](std::span<const TokenId> history, size_t max) mutable {
    const size_t n_right = dice.bits() % (n + 1);
    Ids guesses;
    for (size_t i = 0; i < std::min(n, max); ++i) {
      const size_t at = history.size() + i;
      const TokenId right = at < truth.size() ? truth[at] : 0;
      guesses.push_back(i < n_right ? right : (right + 1) % 30);
    }
    return guesses;
  };
}

// The same case plainly and with drafts of several lengths.
void expect_equal(const Case& c) {
  const Result plain = run(c, nullptr);
  size_t n_accepted = 0;
  for (size_t n : {1u, 2u, 4u, 16u}) {
    for (uint64_t seed = 0; seed < 8; ++seed) {
      // What comes next is known from a run that nothing ends early.
      Case endless = c;
      endless.ask = [](TokenId) { return Verdict::go_on; };
      endless.max_tokens = 60, endless.capacity = 200;
      ToldDrafter drafter(mostly_right(run(endless, nullptr).tokens, n, seed));
      EXPECT_EQ(run(c, &drafter), plain) << n << " guesses, seed " << seed;
      n_accepted += drafter.n_accepted;
    }
  }
  EXPECT_GT(n_accepted, 0u);
}

TEST(Verification, GreedyTextIsThePlainText_B146) {
  expect_equal({});
}

TEST(Verification, SampledTextIsThePlainTextForEverySeed) {
  for (uint64_t seed : {1u, 2u, 3u}) {
    expect_equal({.sampler = {.temperature = 0.7f, .seed = seed}});
    expect_equal({.sampler = {.temperature = 1.2f, .top_k = 3, .top_p = 0.9f, .seed = seed}});
    expect_equal({.sampler = {.temperature = 0.9f, .min_p = 0.1f, .seed = seed}});
  }
}

TEST(Verification, PenaltiesSeeAcceptedGuessesAsTheySeeTokens) {
  expect_equal({.sampler = {.repeat_penalty = 1.5f, .frequency_penalty = 0.3f}});
  expect_equal({.sampler = {.temperature = 0.7f, .presence_penalty = 1.0f, .repeat_last_n = 5}});
}

TEST(Verification, MaxTokensEndsInsideADraft_B149) {
  for (size_t n : {3u, 4u, 5u, 18u}) expect_equal({.max_tokens = n});
  FunctionModel model(kVocab, score);
  ToldDrafter greedy([](std::span<const TokenId>, size_t max) { return Ids(max, 1); });
  EXPECT_EQ(run({.max_tokens = 3}, &greedy).tokens.size(), 6u);
}

TEST(Verification, TheEndOfTheContextShortensDrafts_B149) {
  for (size_t room : {1u, 2u, 3u, 7u}) {
    Case c{.max_tokens = 100, .capacity = 64, .prompt = Ids(64 - room, 1)};
    const Result plain = run(c, nullptr);
    EXPECT_EQ(plain.tokens.size(), 64u);
    EXPECT_EQ(plain.finish, FinishReason::length);
    ToldDrafter drafter(
        [](std::span<const TokenId>, size_t max) { return Ids(std::min<size_t>(max, 16), 1); });
    EXPECT_EQ(run(c, &drafter), plain) << room;
  }
  expect_equal({.max_tokens = 100, .capacity = 13});
}

TEST(Verification, AnEndTokenInsideADraftEndsIt_B149) {
  const Result whole = run({}, nullptr);
  for (size_t at : {6u, 7u, 12u}) {
    const TokenId end = whole.tokens[at];
    for (Verdict verdict : {Verdict::end_with, Verdict::end_without, Verdict::cancel}) {
      expect_equal({.ask = [=](TokenId id) { return id == end ? verdict : Verdict::go_on; }});
    }
  }
}

TEST(Verification, AClientThatThrowsInsideADraftLeavesWhatItLeavesPlainly) {
  const Result whole = run({}, nullptr);
  const TokenId bad = whole.tokens[9];
  expect_equal({.ask = [=](TokenId id) {
    if (id == bad) throw std::runtime_error("client gone");
    return Verdict::go_on;
  }});
}

// The token that really comes is one behind which the model is broken.
TEST(Verification, BrokenLogitsInsideADraftEndItWhereTheyEndPlainDecoding) {
  const auto function = [](std::span<const TokenId> past, std::span<float> logits) {
    score(past, logits);
    if (past.size() == 9) logits[kPoison] = 20;
  };
  const Result plain = run({.function = function}, nullptr);
  EXPECT_EQ(plain.error, "NonFiniteLogits");
  EXPECT_EQ(plain.tokens.size(), 10u);
  Ids truth = plain.tokens;
  truth.insert(truth.end(), {7, 8, 9});
  for (size_t n : {1u, 3u, 8u}) {
    ToldDrafter drafter([&](std::span<const TokenId> history, size_t max) {
      const size_t from = history.size();
      const size_t to = std::min(truth.size(), from + std::min(n, max));
      return Ids(truth.begin() + static_cast<std::ptrdiff_t>(from),
                 truth.begin() + static_cast<std::ptrdiff_t>(to));
    });
    EXPECT_EQ(run({.function = function}, &drafter), plain);
    EXPECT_GT(drafter.n_accepted, 0u);
  }
}

// A wrong guess that the model cannot be asked about is nobody's error.
TEST(Verification, APassThatFailsForAGuessIsRepeatedWithoutIt) {
  const Result plain = run({}, nullptr);
  for (TokenId bad : {kThrows, kPoison}) {
    ToldDrafter drafter([&](std::span<const TokenId> history, size_t max) {
      Ids guesses = {history.size() < plain.tokens.size() ? plain.tokens[history.size()] : 0, bad,
                     1};
      guesses.resize(std::min(max, guesses.size()));
      return guesses;
    });
    EXPECT_EQ(run({}, &drafter), plain);
  }
}

// Forbids a token twice in a row, and can say so beforehand if asked to.
class NoRepeat : public Constraint {
 public:
  void mask(std::span<float> logits) override {
    if (last_ >= 0) logits[static_cast<size_t>(last_)] = -std::numeric_limits<float>::infinity();
    if (n_ == limit)
      std::fill(logits.begin(), logits.end(), -std::numeric_limits<float>::infinity());
  }
  void accept(TokenId token) override { last_ = token, ++n_, accepted.push_back(token); }

  Ids accepted;
  size_t limit = 1000;

 private:
  TokenId last_ = -1;
  size_t n_ = 0;
};

TEST(Verification, AConstraintSeesEveryTokenOnceAndInOrder) {
  NoRepeat plain_rule;
  const Result plain = run({}, nullptr, &plain_rule);
  for (size_t n : {1u, 4u, 16u}) {
    NoRepeat rule;
    ToldDrafter drafter(mostly_right(plain.tokens, n, n));
    EXPECT_EQ(run({}, &drafter, &rule), plain);
    EXPECT_EQ(rule.accepted, plain_rule.accepted);
    EXPECT_GT(drafter.n_accepted, 0u);
  }
  NoRepeat plain_end, end;
  plain_end.limit = end.limit = 11;
  ToldDrafter drafter(mostly_right(plain.tokens, 8, 3));
  const Result stopped = run({}, nullptr, &plain_end);
  EXPECT_EQ(stopped.error, "AllTokensMasked");
  EXPECT_EQ(run({}, &drafter, &end), stopped);
}

// A sequence may be continued after any of this, with guesses or without.
TEST(Verification, WhatFollowsAnInterruptedDraftIsWhatFollowsPlainDecoding) {
  const Result whole = run({.max_tokens = 30}, nullptr);
  FunctionModel model(kVocab, score);
  ScriptedCache cache = model.new_cache(100);
  Ids tokens = {1, 2, 3};
  Sampler sampler({}, model.kernels());
  ToldDrafter drafter(mostly_right(whole.tokens, 8, 5));
  const Sequence<FunctionModel> sequence{model, cache, tokens, sampler, nullptr, &drafter};
  for (size_t n : {7u, 1u, 13u, 9u}) {
    generate(sequence, n, [](TokenId) { return Verdict::go_on; });
    EXPECT_EQ(cache.length(), tokens.size() - 1);
  }
  EXPECT_EQ(tokens, whole.tokens);
}

void expect_the_same_with_guesses(Architecture architecture) {
  test::LoadedModel loaded({.config = test::tiny_config(architecture)});
  Transformer& model = loaded.transformer;
  struct Voice {
    KvCache cache;
    Ids tokens;
    Sampler sampler;
  };
  const auto voice = [&](uint64_t i) {
    return Voice{model.new_cache(200), test::random_prompt(5 + 9 * i, 320, i),
                 Sampler({.temperature = i % 2 == 0 ? 0.0f : 0.7f, .seed = i}, model.kernels())};
  };
  const auto go_on = [](TokenId) { return Verdict::go_on; };
  std::vector<Ids> plain;
  for (uint64_t i = 0; i < 6; ++i) {
    Voice v = voice(i);
    generate(Sequence<Transformer>{model, v.cache, v.tokens, v.sampler}, 40, go_on);
    plain.push_back(v.tokens);
  }
  std::vector<Voice> voices;
  std::vector<ToldDrafter> drafters;
  std::vector<Stream<Transformer>> streams;
  for (uint64_t i = 0; i < 6; ++i) {
    voices.push_back(voice(i));
    drafters.emplace_back(mostly_right(plain[i], 1 + 2 * i, i));
  }
  for (uint64_t i = 0; i < 6; ++i) {
    auto& [cache, tokens, sampler] = voices[i];
    streams.push_back({{model, cache, tokens, sampler, nullptr, &drafters[i]}, 40, go_on});
  }
  generate_together<Transformer>(streams);
  for (uint64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(voices[i].tokens, plain[i]) << i;
    EXPECT_GT(drafters[i].n_accepted, 0u) << i;
    EXPECT_GT(drafters[i].n_rejected, 0u) << i;
  }
}

// The real model: logits bit for bit, so text id for id.
TEST(Verification, ATransformerSaysTheSameWithGuessesAndInBatchesOfThem) {
  expect_the_same_with_guesses(Architecture::qwen3);
}

// Checked guesses go to experts of their own, beside those of the rows that were asked for.
TEST(Verification, AMixtureSaysTheSameWithGuessesAndInBatchesOfThem) {
  expect_the_same_with_guesses(Architecture::qwen3moe);
  expect_the_same_with_guesses(Architecture::qwen2moe);
}

}  // namespace
}  // namespace maglio
